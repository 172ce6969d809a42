"""Activations with weights, slopes from a range, or over pairs: prelu, rrelu, glu."""

from __future__ import annotations

import numpy as np

from impl.autocast import lowers
from impl.operator import FUNCTIONS, Array, function, operator
from impl.operators.activations import HIDDEN, leaky
from impl.operators.special import expit
from impl.precision import rounded_once
from impl.refusals import no_derivative, require_floating, require_full_precision


@operator(node="PreluKernelBackward0", numbers=False, **HIDDEN)
@rounded_once
def prelu_kernel(self: Array, weight: Array) -> Array:
    require_floating(self, "prelu_cpu")
    return np.where(self > 0, self, weight * self)


@prelu_kernel.gradients("self", "weight")
def _prelu_slopes(F, grad, self, weight):
    return F.prelu_kernel_backward(grad, self, weight)


prelu_kernel.forward(
    lambda F, self_t, self, weight_t, weight: F.where(
        self >= 0, self_t, weight * self_t + weight_t * self
    )
)


@function()
@lowers
def prelu(input, weight):
    """input above 0, weight * input at and below; one weight, or one per channel (F.prelu).

    Raises RuntimeError when there are neither one nor as many weights as channels (dimension 1).
    """
    if input.dtype is not weight.dtype:
        raise RuntimeError(
            "prelu: Type promoting not supported. Got "
            f"{input.dtype.legacy} and {weight.dtype.legacy}"
        )
    if weight.numel() != 1:
        if input.dim() == 0:
            raise RuntimeError("Not allow zero-dim input tensor.")
        channels = input.shape[1] if input.dim() > 1 else 1
        if channels != weight.numel():
            raise RuntimeError(
                "Mismatch of parameter numbers and input channel size. Found parameter numbers = "
                f"{weight.numel()} and channel size = {channels}."
            )
    if weight.dim() > 1:
        raise RuntimeError(
            f"prelu: Expected `weight` to be a scalar or 1D tensor, but got: ndim = {weight.dim()}"
        )
    if input.dim() == 0:
        weight = FUNCTIONS["reshape"](weight, ()) if weight.dim() == 1 else weight
    elif weight.dim() != input.dim():
        shape = [1] * input.dim()
        if input.dim() > 1:
            shape[1] = weight.numel()
        weight = FUNCTIONS["reshape"](weight, shape)
    return prelu_kernel(input, weight)


@operator(node="RreluWithNoiseBackward0", **HIDDEN)
@rounded_once
def rrelu_with_noise(self: Array, noise: Array, lower, upper, training) -> Array:
    """What is not positive times the slopes in `noise`, or else times the mean slope."""
    return self * noise if training else leaky(self, (lower + upper) / 2)


@operator(node="RreluWithNoiseBackward1", **HIDDEN)
@rounded_once
def rrelu_with_noise_into(self: Array, noise: Array, lower, upper, training) -> Array:
    return self * noise if training else leaky(self, (lower + upper) / 2)


rrelu_with_noise.gradient(
    self=lambda F, grad, self, noise, lower, upper, training: F.rrelu_with_noise_backward(
        grad, self, noise, lower, upper, training, False
    )
)
rrelu_with_noise_into.gradient(
    self=lambda F, grad, result, noise, lower, upper, training: F.rrelu_with_noise_backward(
        grad, result, noise, lower, upper, training, True
    )
)


@operator(**HIDDEN)
@rounded_once
def glu(self: Array, dim) -> Array:
    """The first half of `dim` times the sigmoid of the second (F.glu)."""
    if self.ndim == 0:
        raise RuntimeError("glu does not support scalars because halving size must be even")
    if self.shape[dim] % 2:
        raise RuntimeError(
            f"Halving dimension must be even, but dimension {dim % self.ndim} is size "
            f"{self.shape[dim]}"
        )
    require_floating(self, "glu_cpu")
    value, gate = np.split(self, 2, dim)
    return value * expit(gate)


def _half_layouts(args):
    tensor, dim = args
    shape = list(tensor.shape)
    shape[dim] //= 2
    return [(tuple(shape), tensor.stride())] * 2


glu.layouts = _half_layouts
glu.gradient(self=lambda F, grad, self, dim: F.glu_backward(grad, self, dim))


@operator(node="NotImplemented", numbers=False, **HIDDEN)
def glu_jvp(glu: Array, x: Array, dx: Array, dim) -> Array:
    require_full_precision(x, "glu_jvp_cpu")
    gate = expit(np.split(x, 2, dim)[1])
    of_value, of_gate = np.split(dx, 2, dim)
    return of_value * gate + glu * (1 - gate) * of_gate


glu_jvp.layouts = lambda args: [(args[0]._raw.shape, args[0].stride())]
glu_jvp.gradients("glu", "x", "dx")(no_derivative("glu_jvp"))
glu.forward(lambda F, self_t, self, dim, result: F.glu_jvp(result, self, self_t, dim))
