"""Activation functions of `torch.nn.functional`: names, defaults and argument checks."""

from __future__ import annotations

from impl import random
from impl.operator import FUNCTIONS, taking_out
from impl.operators import activations as units
from impl.operators import paired_activations as paired
from impl.tensor import Tensor

relu_ = FUNCTIONS["relu_"]
prelu = FUNCTIONS["prelu"]
hardshrink = FUNCTIONS["hardshrink"]
sigmoid = FUNCTIONS["sigmoid"]
tanh = FUNCTIONS["tanh"]
selu_ = FUNCTIONS["selu_"]
celu_ = FUNCTIONS["celu_"]


def _apply(op, into, inplace: bool, *args):
    return into.inplace(*args) if inplace else op.call(*args)


def relu(input, inplace: bool = False) -> Tensor:
    """max(input, 0); the slope at 0 is 0."""
    return _apply(units.relu, units.relu, inplace, input)


def relu6(input, inplace: bool = False) -> Tensor:
    """min(max(input, 0), 6), recorded as hardtanh."""
    return hardtanh(input, 0, 6, inplace)


def hardtanh(input, min_val=-1.0, max_val=1.0, inplace: bool = False) -> Tensor:
    """`input` limited to [min_val, max_val]; the slope is 0 at both bounds.

    Raises ValueError when the bounds cross.
    """
    if min_val > max_val:
        raise ValueError("min_val cannot be greater than max_val")
    return _apply(units.hardtanh, units.hardtanh, inplace, input, min_val, max_val)


def hardtanh_(input, min_val=-1.0, max_val=1.0) -> Tensor:
    """`hardtanh` in place."""
    return hardtanh(input, min_val, max_val, inplace=True)


def threshold(input, threshold, value, inplace: bool = False) -> Tensor:
    """`input` where it is above `threshold`, else `value`."""
    return _apply(units.threshold, units.threshold_into, inplace, input, threshold, value)


def threshold_(input, threshold, value) -> Tensor:
    """`threshold` in place."""
    return units.threshold_into.inplace(input, threshold, value)


def leaky_relu(input, negative_slope=0.01, inplace: bool = False) -> Tensor:
    """`input` above 0, negative_slope * input at and below.

    In place the derivative is found from the result, so a negative slope raises RuntimeError in
    the backward.
    """
    return _apply(units.leaky_relu, units.leaky_relu_into, inplace, input, negative_slope)


def leaky_relu_(input, negative_slope=0.01) -> Tensor:
    """`leaky_relu` in place."""
    return units.leaky_relu_into.inplace(input, negative_slope)


def elu(input, alpha=1.0, inplace: bool = False) -> Tensor:
    """`input` above 0, alpha * (exp(input) - 1) at and below."""
    return _apply(units.elu, units.elu_into, inplace, input, alpha, 1, 1)


def elu_(input, alpha=1.0) -> Tensor:
    """`elu` in place."""
    return units.elu_into.inplace(input, alpha, 1, 1)


def celu(input, alpha=1.0, inplace: bool = False) -> Tensor:
    """`input` above 0, alpha * (exp(input / alpha) - 1) at and below."""
    return _apply(units.celu, units.celu_into, inplace, input, alpha)


def selu(input, inplace: bool = False) -> Tensor:
    """elu with the constants that keep mean and variance, recorded as elu."""
    return (FUNCTIONS["selu_"] if inplace else FUNCTIONS["selu"])(input)


@taking_out
def gelu(input, *, approximate: str = "none") -> Tensor:
    """`input` times the normal distribution function of it; "tanh" approximates that.

    Raises RuntimeError for another `approximate`.
    """
    return units.gelu(input, approximate)


def silu(input, inplace: bool = False) -> Tensor:
    """input * sigmoid(input)."""
    return _apply(units.silu, units.silu, inplace, input)


def mish(input, inplace: bool = False) -> Tensor:
    """input * tanh(softplus(input))."""
    return _apply(units.mish, units.mish, inplace, input)


@taking_out
def softplus(input, beta=1, threshold=20) -> Tensor:
    """log(1 + exp(beta * input)) / beta; `input` itself where beta * input > threshold."""
    return units.softplus(input, beta, threshold)


def softsign(input) -> Tensor:
    """input / (|input| + 1), composed of these."""
    return input / (input.abs() + 1)


def tanhshrink(input) -> Tensor:
    """input - tanh(input), composed of these."""
    return input - input.tanh()


def hardsigmoid(input, inplace: bool = False) -> Tensor:
    """relu6(input + 3) / 6."""
    return _apply(units.hardsigmoid, units.hardsigmoid, inplace, input)


def hardswish(input, inplace: bool = False) -> Tensor:
    """input * relu6(input + 3) / 6."""
    return _apply(units.hardswish, units.hardswish, inplace, input)


@taking_out
def softshrink(input, lambd=0.5) -> Tensor:
    """`input` moved towards 0 by `lambd`. Raises RuntimeError for a negative one."""
    return units.softshrink(input, lambd)


@taking_out
def log_sigmoid(input) -> Tensor:
    """log(sigmoid(input)) without overflow; people know it as logsigmoid."""
    return units.log_sigmoid_forward(input)[0]


logsigmoid = log_sigmoid


def glu(input, dim: int = -1) -> Tensor:
    """The first half of `dim` times the sigmoid of the second.

    Raises RuntimeError for an odd size, and for a scalar.
    """
    return paired.glu(input, dim)


def rrelu(input, lower=1 / 8, upper=1 / 3, training: bool = False, inplace: bool = False) -> Tensor:
    """leaky_relu with slopes drawn from [lower, upper), or with their mean if not in `training`.

    Raises RuntimeError when the bounds cross.
    """
    if lower > upper:
        raise RuntimeError("Lower bound should be less than or equal to the upper bound")
    noise = input.new_empty(input._raw.shape)
    if training:
        random.draw_slopes(noise, input, lower, upper)
    return _apply(
        paired.rrelu_with_noise,
        paired.rrelu_with_noise_into,
        inplace,
        input,
        noise,
        lower,
        upper,
        training,
    )


def rrelu_(input, lower=1 / 8, upper=1 / 3, training: bool = False) -> Tensor:
    """`rrelu` in place."""
    return rrelu(input, lower, upper, training, inplace=True)


FUNCTIONS["rrelu"], FUNCTIONS["rrelu_"] = rrelu, rrelu_
FUNCTIONS["threshold"], FUNCTIONS["threshold_"] = threshold, threshold_
