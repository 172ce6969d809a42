"""The functions of ATen that apply activations: their defaults, and in place.

Those of `torch.nn.functional` with an option `inplace` call these (`impl.nn.activation`).
"""

from __future__ import annotations

import functools
import math

from impl.core.dtypes import float64
from impl.core.registry import FUNCTIONS, NATIVE
from impl.dispatch import randomness
from impl.dispatch.definition import native, taking_out
from impl.dispatch.out import storing_same
from impl.dispatch.spellings import spelled
from impl.factories import draws
from impl.kernels.casting import storable
from impl.operators.activations import activations as units
from impl.operators.activations import prelu_rrelu_glu as paired
from impl.tensor.tensor import Tensor
from impl.tensor.write import resize

for _unit in (units.silu, units.mish, units.hardsigmoid, units.hardswish):
    NATIVE[_unit.name], NATIVE[f"{_unit.name}_"] = _unit.call, _unit.inplace
NATIVE["glu"] = paired.glu.call


@native()
def relu6(input) -> Tensor:
    """min(max(input, 0), 6), recorded as hardtanh."""
    return units.hardtanh(input, 0, 6)


@native()
@spelled("relu6_")
def relu6_(input) -> Tensor:
    """`relu6` in place."""
    return units.hardtanh.inplace(input, 0, 6)


@native()
def hardtanh(input, min_val=-1, max_val=1) -> Tensor:
    """`input` limited to [min_val, max_val]; the slope is 0 at both bounds."""
    return units.hardtanh(input, min_val, max_val)


def hardtanh_(input, min_val=-1.0, max_val=1.0) -> Tensor:
    """`hardtanh` in place."""
    return units.hardtanh.inplace(input, min_val, max_val)


@native()
def leaky_relu(input, negative_slope=0.01) -> Tensor:
    """`input` above 0, negative_slope * input at and below."""
    return units.leaky_relu(input, negative_slope)


def leaky_relu_(input, negative_slope=0.01) -> Tensor:
    """`leaky_relu` in place."""
    return units.leaky_relu_into.inplace(input, negative_slope)


@native()
def elu(input, alpha=1, scale=1, input_scale=1) -> Tensor:
    """`input` above 0, alpha * (exp(input) - 1) at and below."""
    return units.elu(input, alpha, scale, input_scale)


def elu_(input, alpha=1.0, scale=1, input_scale=1) -> Tensor:
    """`elu` in place."""
    return units.elu_into.inplace(input, alpha, scale, input_scale)


def _written(op, out, *args) -> Tensor:
    return op(*args) if out is None else op.call_out(out, args)


def gelu(input, *, approximate: str = "none", out=None) -> Tensor:
    """`input` times the normal distribution function of `input`; "tanh" approximates it.

    Raises RuntimeError for another `approximate`.
    """
    return _written(units.gelu, out, input, approximate)


def softplus(input, beta=1, threshold=20, *, out=None) -> Tensor:
    """log(1 + exp(beta * input)) / beta; `input` itself where beta * input > threshold."""
    return _written(units.softplus, out, input, beta, threshold)


def softshrink(input, lambd=0.5, *, out=None) -> Tensor:
    """`input` moved towards 0 by `lambd`. Raises RuntimeError for a negative `lambd`."""
    return _written(units.softshrink, out, input, lambd)


@functools.partial(
    taking_out,
    name="log_sigmoid_forward",
    storing=storing_same("expected scalar type {0.legacy} but found {1.legacy}"),
    before=lambda out, input: resize(out, input._raw.shape),
)
def log_sigmoid(input) -> Tensor:
    """log(sigmoid(input)) without overflow; offered as `logsigmoid`."""
    return units.log_sigmoid_forward(input)[0]


logsigmoid = log_sigmoid


def _rrelu(input, lower, upper, training: bool, inplace: bool) -> Tensor:
    randomness.refuse_slopes(inplace)
    lower, upper = (storable(bound, float64.numpy).item() for bound in (lower, upper))
    if not inplace:
        for name, bound in (("lower", lower), ("upper", upper)):
            if not math.isfinite(bound):
                raise RuntimeError(f"rrelu: {name} bound must be finite, got {bound}")
    if not lower <= upper:
        raise RuntimeError("Lower bound should be less than or equal to the upper bound")
    noise = input.new_empty(input._raw.shape)
    if training:
        draws.draw_slopes(noise, input, lower, upper)
    if inplace:
        return paired.rrelu_with_noise_into.inplace(input, noise, lower, upper, training)
    return paired.rrelu_with_noise(input, noise, lower, upper, training)


def rrelu(input, lower=1 / 8, upper=1 / 3, training: bool = False) -> Tensor:
    """`leaky_relu` with slopes drawn from [lower, upper) in training, else with their mean.

    Raises RuntimeError if lower > upper, and for bounds that are not finite.
    """
    return _rrelu(input, lower, upper, training, inplace=False)


def rrelu_(input, lower=1 / 8, upper=1 / 3, training: bool = False) -> Tensor:
    """`rrelu` in place."""
    return _rrelu(input, lower, upper, training, inplace=True)


def threshold(input, threshold, value, *, out=None) -> Tensor:
    """`input` where it is above `threshold`, else `value` (torch.threshold)."""
    return _written(units.threshold, out, input, threshold, value)


def threshold_(input, threshold, value) -> Tensor:
    """`threshold` in place."""
    return units.threshold_into.inplace(input, threshold, value)


FUNCTIONS["rrelu"], FUNCTIONS["rrelu_"] = rrelu, rrelu_
FUNCTIONS["threshold"], FUNCTIONS["threshold_"] = threshold, threshold_
