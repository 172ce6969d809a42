"""Activation functions of `torch.nn.functional`: names, defaults and argument checks.

Gumbel softmax: E. Jang, S. Gu, B. Poole, "Categorical reparameterization with Gumbel-softmax",
ICLR 2017.
"""

from __future__ import annotations

import warnings

from impl.core.registry import FUNCTIONS
from impl.dispatch.definition import taking_out
from impl.factories import draws
from impl.operators.activations import activations as units
from impl.operators.activations import prelu_rrelu_glu as paired
from impl.tensor.tensor import Tensor

relu_ = FUNCTIONS["relu_"]
prelu = FUNCTIONS["prelu"]
hardshrink = FUNCTIONS["hardshrink"]
sigmoid = FUNCTIONS["sigmoid"]
tanh = FUNCTIONS["tanh"]
selu_ = FUNCTIONS["selu_"]
celu_ = FUNCTIONS["celu_"]


def _apply(operator, inplace_operator, inplace: bool, *args):
    return inplace_operator.inplace(*args) if inplace else operator.call(*args)


def _unary(name: str, text: str):
    """An activation without settings, which is one operator, also in place."""
    operator = getattr(units, name)

    def activation(input, inplace: bool = False) -> Tensor:
        return operator.inplace(input) if inplace else operator.call(input)

    activation.__name__ = activation.__qualname__ = name
    activation.__doc__ = text
    return activation


relu = _unary("relu", "max(input, 0); the slope at 0 is 0.")
silu = _unary("silu", "input * sigmoid(input).")
mish = _unary("mish", "input * tanh(softplus(input)).")
hardsigmoid = _unary("hardsigmoid", "relu6(input + 3) / 6.")
hardswish = _unary("hardswish", "input * relu6(input + 3) / 6.")


def relu6(input, inplace: bool = False) -> Tensor:
    """min(max(input, 0), 6), recorded as hardtanh."""
    return hardtanh(input, 0, 6, inplace)


def hardtanh(input, min_val=-1.0, max_val=1.0, inplace: bool = False) -> Tensor:
    """`input` limited to [min_val, max_val]; the slope is 0 at both bounds.

    Raises ValueError if min_val > max_val.
    """
    if min_val > max_val:
        raise ValueError("min_val cannot be greater than max_val")
    return _apply(units.hardtanh, units.hardtanh, inplace, input, min_val, max_val)


def hardtanh_(input, min_val=-1.0, max_val=1.0) -> Tensor:
    """`hardtanh` in place."""
    return units.hardtanh.inplace(input, min_val, max_val)


def threshold(input, threshold, value, inplace: bool = False) -> Tensor:
    """`input` where it is above `threshold`, else `value`."""
    return _apply(units.threshold, units.threshold_into, inplace, input, threshold, value)


def threshold_(input, threshold, value) -> Tensor:
    """`threshold` in place."""
    return units.threshold_into.inplace(input, threshold, value)


def leaky_relu(input, negative_slope=0.01, inplace: bool = False) -> Tensor:
    """`input` above 0, negative_slope * input at and below.

    In place the derivative is computed from the result, so that the backward raises RuntimeError
    for a negative slope.
    """
    return _apply(units.leaky_relu, units.leaky_relu_into, inplace, input, negative_slope)


def leaky_relu_(input, negative_slope=0.01) -> Tensor:
    """`leaky_relu` in place."""
    return units.leaky_relu_into.inplace(input, negative_slope)


def elu(input, alpha=1.0, inplace: bool = False) -> Tensor:
    """`input` above 0, alpha * (exp(input) - 1) at and below."""
    return _apply(units.elu, units.elu_into, inplace, input, alpha, 1, 1)


def elu_(input, alpha=1.0, scale=1, input_scale=1) -> Tensor:
    """`elu` in place."""
    return units.elu_into.inplace(input, alpha, scale, input_scale)


def celu(input, alpha=1.0, inplace: bool = False) -> Tensor:
    """`input` above 0, alpha * (exp(input / alpha) - 1) at and below."""
    return _apply(units.celu, units.celu_into, inplace, input, alpha)


def selu(input, inplace: bool = False) -> Tensor:
    """ELU with the constants that preserve mean and variance; recorded as elu."""
    return (FUNCTIONS["selu_"] if inplace else FUNCTIONS["selu"])(input)


def gelu(input, *, approximate: str = "none", out=None) -> Tensor:
    """`input` times the normal distribution function of `input`; "tanh" approximates it.

    Raises RuntimeError for another `approximate`.
    """
    return _written(units.gelu, out, input, approximate)


def _written(op, out, *args) -> Tensor:
    return op(*args) if out is None else op.call_out(out, args)


def softplus(input, beta=1, threshold=20, *, out=None) -> Tensor:
    """log(1 + exp(beta * input)) / beta; `input` itself where beta * input > threshold."""
    return _written(units.softplus, out, input, beta, threshold)


def softsign(input) -> Tensor:
    """input / (|input| + 1), composed of these."""
    return input / (input.abs() + 1)


def tanhshrink(input) -> Tensor:
    """input - tanh(input), composed of these."""
    return input - input.tanh()


def softshrink(input, lambd=0.5, *, out=None) -> Tensor:
    """`input` moved towards 0 by `lambd`. Raises RuntimeError for a negative `lambd`."""
    return _written(units.softshrink, out, input, lambd)


@taking_out
def log_sigmoid(input) -> Tensor:
    """log(sigmoid(input)) without overflow; offered as `logsigmoid`."""
    return units.log_sigmoid_forward(input)[0]


logsigmoid = log_sigmoid


def glu(input, dim: int = -1) -> Tensor:
    """The first half of `dim` times the sigmoid of the second.

    Raises RuntimeError for an odd size, and for a scalar.
    """
    return paired.glu(input, dim)


def rrelu(input, lower=1 / 8, upper=1 / 3, training: bool = False, inplace: bool = False) -> Tensor:
    """`leaky_relu` with slopes drawn from [lower, upper) in training, else with their mean.

    Raises RuntimeError if lower > upper.
    """
    if lower > upper:
        raise RuntimeError("Lower bound should be less than or equal to the upper bound")
    noise = input.new_empty(input._raw.shape)
    if training:
        draws.draw_slopes(noise, input, lower, upper)
    operators = paired.rrelu_with_noise, paired.rrelu_with_noise_into
    return _apply(*operators, inplace, input, noise, lower, upper, training)


def rrelu_(input, lower=1 / 8, upper=1 / 3, training: bool = False) -> Tensor:
    """`rrelu` in place."""
    return rrelu(input, lower, upper, training, inplace=True)


def gumbel_softmax(
    logits: Tensor, tau: float = 1, hard: bool = False, eps: float = 1e-10, dim: int = -1
) -> Tensor:
    """A relaxed sample of the categories with scores along `dim`, at the temperature `tau`; if
    `hard` a one-hot sample with the gradient of the relaxed one
    (torch.nn.functional.gumbel_softmax)."""
    if eps != 1e-10:
        warnings.warn("`eps` parameter is deprecated and has no effect.", stacklevel=2)
    noise = -FUNCTIONS["empty"](logits.shape, dtype=logits.dtype).exponential_().log()
    soft = ((logits + noise) / tau).softmax(dim)
    if not hard:
        return soft
    index = soft.max(dim, keepdim=True)[1]
    one_hot = FUNCTIONS["zeros_like"](logits).scatter_(dim, index, 1.0)
    return one_hot - soft.detach() + soft


FUNCTIONS["rrelu"], FUNCTIONS["rrelu_"] = rrelu, rrelu_
FUNCTIONS["threshold_"] = threshold_


def _threshold(input, threshold, value, *, out=None) -> Tensor:
    """`threshold`, which may be written into `out` (torch.threshold)."""
    if out is None:
        return units.threshold(input, threshold, value)
    return units.threshold.call_out(out, (input, threshold, value))


FUNCTIONS["threshold"] = _threshold
