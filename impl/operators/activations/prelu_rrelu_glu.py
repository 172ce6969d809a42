"""Activations with weights, slopes from a range, or over pairs: prelu, rrelu, glu."""

from __future__ import annotations

import numpy as np

from impl.core.dims import wrap_dim
from impl.core.registry import FUNCTIONS, tensor_ops
from impl.core.strides import element_strides, empty_strided
from impl.core.tensor_iterator import elementwise_strides
from impl.dispatch.autocast import lower_precision_fp
from impl.dispatch.definition import Array, formula_operation, function, operator, written
from impl.dispatch.facts import NoComplex
from impl.dispatch.not_implemented import (
    no_derivative,
    require_floating,
    require_full_precision,
    require_same_dtype,
)
from impl.kernels.reduced_precision import rounded_once
from impl.operators.activations.activations import HIDDEN, leaky
from impl.operators.pointwise.special import expit


@operator(node="PreluKernelBackward0", numbers=False, **HIDDEN)
def prelu_kernel(self: Array, weight: Array) -> Array:
    require_same_dtype(weight, self.dtype)
    require_floating(self, "prelu_cpu")
    return _leaky(self, weight)


@rounded_once
def _leaky(x, slope):
    return np.where(x > 0, x, slope * x)


@prelu_kernel.gradients("self", "weight")
def _prelu_slopes(F, grad, self, weight):
    return F.prelu_kernel_backward(grad, self, weight)


prelu_kernel.forward(
    lambda F, self_t, self, weight_t, weight: F.where(
        self >= 0, self_t, weight * self_t + weight_t * self
    )
)


@function()
@lower_precision_fp
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


@operator(node="RreluWithNoiseBackward0", **HIDDEN, complex=NoComplex("leaky_relu_cpu"))
@rounded_once
def rrelu_with_noise(self: Array, noise: Array, lower, upper, training) -> Array:
    """Elements that are not positive, times the slopes in `noise` or times the mean slope."""
    return self * noise if training else leaky(self, (lower + upper) / 2)


@operator(node="RreluWithNoiseBackward1", **HIDDEN, complex=NoComplex("leaky_relu_cpu"))
@rounded_once
def rrelu_with_noise_into(self: Array, noise: Array, lower, upper, training) -> Array:
    return self * noise if training else leaky(self, (lower + upper) / 2)


rrelu_with_noise.laid_out_as(lambda args: [])  # row-major, whatever the input's layout
rrelu_with_noise.gradient(
    self="F.rrelu_with_noise_backward(grad, self, noise, lower, upper, training, False)"
)
rrelu_with_noise_into.gradient(
    self="F.rrelu_with_noise_backward(grad, result, noise, lower, upper, training, True)"
)


@operator(**HIDDEN, batching="dims")
@rounded_once
def glu(self: Array, dim) -> Array:
    """The first half of `dim` times the sigmoid of the second (F.glu)."""
    if self.ndim == 0:
        raise RuntimeError("glu does not support scalars because halving size must be even")
    dim = wrap_dim(dim, self.ndim)
    if self.shape[dim] % 2:
        raise RuntimeError(
            f"Halving dimension must be even, but dimension {dim} is size {self.shape[dim]}"
        )
    require_floating(self, "glu_cpu")
    value, gate = np.split(self, 2, dim)
    return value * expit(gate)


def _half_layouts(args):
    tensor, dim = args
    shape = list(tensor.shape)
    shape[dim] //= 2
    return [(tuple(shape), tensor.stride())] * 2


glu.laid_out_as(_half_layouts)
glu.gradient(self=lambda F, grad, self, dim: F.glu_backward(grad, self, dim))


@operator(node="NotImplemented", numbers=False, batching="dims", **HIDDEN)
def glu_jvp(glu: Array, x: Array, dx: Array, dim) -> Array:
    require_full_precision(x, "glu_jvp_cpu")
    gate = expit(np.split(x, 2, dim)[1])
    of_value, of_gate = np.split(dx, 2, dim)
    return of_value * gate + glu * (1 - gate) * of_gate


glu_jvp.laid_out_as(lambda args: [(args[0]._raw.shape, args[0].stride())])
glu_jvp.gradients("glu", "x", "dx")(no_derivative("glu_jvp"))
glu.forward(lambda F, self_t, self, dim, result: F.glu_jvp(result, self, self_t, dim))
glu.forward_is_final = True


# -- the derivatives, operators with derivatives of their own -----------------------------------


@operator(
    node="PreluKernelBackwardBackward0",
    outputs=("of_self", "of_weight"),
    function=False,
    method=False,
    fresh=True,
)
def prelu_kernel_backward(grad_output: Array, self: Array, weight: Array):
    for value in (weight, grad_output):
        require_same_dtype(value, self.dtype)
    return _prelu_gradients(grad_output, self, weight)


@rounded_once
def _prelu_gradients(grad_output, self, weight):
    above = self > 0
    of_self = np.where(above, grad_output, weight * grad_output)
    of_weight = np.where(above, 0, self * grad_output)
    operands = [np.asarray(a) for a in (self, weight, grad_output)]
    if all(a.flags.c_contiguous for a in operands):
        return of_self, of_weight
    layouts = [(a.shape, element_strides(a)) for a in operands]
    strides = elementwise_strides(of_self.shape, layouts)
    return _laid_out(of_self, strides), _laid_out(of_weight, strides)


def _laid_out(value, strides):
    if strides is None:
        return value
    result = empty_strided(value.shape, strides, value.dtype)
    result[...] = value
    return result


@prelu_kernel_backward.gradients("grad_output", "self", "weight")
def _prelu_curvature(F, grad_of_self, grad_of_weight, grad_output, self, weight):
    above = self >= 0
    first, second = grad_of_self, grad_of_weight
    zeros = F.new_zeros(self, self.shape)
    if first is None:
        of_grad = F.where(above, 0, second * self)
    elif second is None:
        of_grad = F.where(above, first, first * weight)
    else:
        of_grad = F.where(above, first, first * weight + second * self)
    of_self = zeros if second is None else F.where(above, 0, grad_output * second)
    of_weight = zeros if first is None else F.where(above, 0, grad_output * first)
    return of_grad, of_self, of_weight


# Zeros are row-major, and count as written when they are made.
written(
    _prelu_curvature,
    {
        "grad_output": 0,
        "self": lambda arrived, _: int(not arrived[1]),
        "weight": lambda arrived, _: int(not arrived[0]),
    },
)


@operator(
    function=False,
    method=False,
    node="GluBackwardBackward0",
    layout_sensitive=True,
    batching="dims",
)
def glu_backward(grad_output: Array, self: Array, dim) -> Array:
    require_same_dtype(grad_output, self.dtype)
    value, gate = np.split(self, 2, dim)
    sigmoid = expit(gate)
    return np.concatenate([grad_output * sigmoid, _of_gate(grad_output, value, sigmoid)], dim)


@rounded_once
def _of_gate(grad_output, value, sigmoid):
    return (1 - sigmoid) * sigmoid * value * grad_output


@formula_operation
def joined(values, dim):
    return np.concatenate(values, dim)


tensor_ops.joined = lambda values, dim: FUNCTIONS["cat"](values, dim)


def _glu_of_grad(F, grad, self, dim):
    ones = F.ones_like(_halves(F, self, dim)[0])
    first, second = _halves(F, grad * F.glu_backward(ones, self, dim), dim)
    return first + second


def _halves(F, value, dim):
    """The two halves of a value along a dimension, each a view of its own."""
    size = value.shape[dim] // 2
    return F.narrow(value, dim, 0, size), F.narrow(value, dim, size, size)


def _glu_curvature(F, grad, grad_output, self, dim):
    value, gate = _halves(F, self, dim)
    sigmoid = F.sigmoid(gate)
    below = F.sub(1.0, sigmoid)
    slope = sigmoid * below
    first, second = _halves(F, grad, dim)
    product = second * value
    of_value = second * grad_output * slope
    curvature = slope * below - sigmoid * slope
    of_gate = product * grad_output * curvature + first * grad_output * slope
    return F.joined([of_value, of_gate], dim)


glu_backward.gradient(grad_output=_glu_of_grad, self=_glu_curvature)
