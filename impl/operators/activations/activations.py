"""Activation functions; their derivatives are operators too, in `activation_derivatives`."""

from __future__ import annotations

import functools
import math
from typing import Any

import ml_dtypes
import numpy as np

from impl.core.dtypes import BY_NUMPY, WIDE, float64
from impl.core.inference_mode import refuses
from impl.core.meta_functions import like_first
from impl.dispatch.definition import Array, function, operator
from impl.dispatch.facts import MemoryOverlap, NoComplex
from impl.dispatch.not_implemented import refuse_bool, refuse_integers, require_floating
from impl.dispatch.out import same_dtype_out
from impl.kernels.casting import check_numbers, element, limit
from impl.kernels.reduced_precision import rounded_once
from impl.kernels.vectorized import in_whole_vectors
from impl.operators.pointwise.clamp import at_least, at_most
from impl.operators.pointwise.special import erf_of
from impl.tensor.allocation import copied_layout

HIDDEN: dict[str, Any] = {
    "function": False,
    "method": False,
    "elementwise": True,
}  # published in impl.nn.activation, and below


@operator(
    elementwise=True,
    inplace=True,
    complex=NoComplex(text="clamp is not supported for complex types", error=NotImplementedError),
)
def relu(self: Array) -> Array:
    """max(self, 0); its derivative is 0 at 0 and 1 at NaN (torch.relu)."""
    if self.dtype.kind == "b":
        raise NotImplementedError("Boolean inputs not supported for relu")
    return at_least(self, self.dtype.type(0))


@function("relu_")
def relu_in_place(input):
    """`relu` written into the tensor. Raises NotImplementedError for bools first (torch.relu_)."""
    if input._raw.dtype.kind == "b":
        raise NotImplementedError("Boolean inputs not supported for relu")
    return relu.inplace(input)


relu.gradient(self="F.threshold_backward(grad, result, 0)")


_NO_CHECK = MemoryOverlap(within=True, operands="none")


@operator(**HIDDEN, complex=NoComplex("threshold_cpu"), memory=_NO_CHECK)
def threshold(self: Array, threshold, value) -> Array:
    """self where it is above `threshold`, else `value` (torch.nn.functional.threshold)."""
    return _above(self, threshold, value)


def _above(x, threshold, value):
    refuse_bool(x, "threshold_cpu")
    check_numbers(x.dtype, threshold)
    return np.where(x <= element(threshold, x.dtype), element(value, x.dtype), x)


@operator(
    node="ThresholdBackward1",
    **HIDDEN,
    complex=NoComplex("threshold_cpu"),
    memory=_NO_CHECK,
)
def threshold_into(self: Array, threshold, value) -> Array:
    return _above(self, threshold, value)


for _op in (threshold, threshold_into):
    _op.casts_out(True)
    _op.gradient(self=lambda F, grad, self, threshold: F.threshold_backward(grad, self, threshold))


@operator(
    writes=1,
    **HIDDEN,
    complex=NoComplex(text="clamp is not supported for complex types", error=NotImplementedError),
)
def hardtanh(self: Array, min_val, max_val) -> Array:
    """self limited to [min_val, max_val]; the derivative is 0 at both limits (F.hardtanh)."""
    if self.dtype.kind == "b":
        raise NotImplementedError("Bool inputs not supported for hardtanh")
    low, high = limit("min", min_val, self.dtype), limit("max", max_val, self.dtype)
    return at_most(at_least(self, low), high)


hardtanh.laid_out_as(copied_layout)
hardtanh.composes(refuses("hardtanh"))
hardtanh.gradient(
    self=lambda F, grad, self, min_val, max_val: F.hardtanh_backward(grad, self, min_val, max_val)
)


@operator(**HIDDEN)
@rounded_once
def hardsigmoid(self: Array) -> Array:
    """relu6(self + 3) / 6 (F.hardsigmoid)."""
    require_floating(self, "hardsigmoid_cpu")
    return _relu6(self + self.dtype.type(3)) / self.dtype.type(6)


@operator(**HIDDEN)
@rounded_once
def hardswish(self: Array) -> Array:
    """self * relu6(self + 3) / 6 (F.hardswish)."""
    require_floating(self, "hardswish_cpu")
    return self * _relu6(self + self.dtype.type(3)) / self.dtype.type(6)


def _relu6(value):
    return at_most(at_least(value, value.dtype.type(0)), value.dtype.type(6))


hardsigmoid.gradient(self=lambda F, grad, self: F.hardsigmoid_backward(grad, self))
hardsigmoid.forward_is_final = True
hardswish.gradient(self=lambda F, grad, self: F.hardswish_backward(grad, self))


@operator(elementwise=True, out=True)
def hardshrink(self: Array, lambd=0.5) -> Array:
    """self outside [-lambd, lambd], 0 inside (torch.hardshrink)."""
    require_floating(self, "hardshrink_cpu")
    element(lambd, self.dtype)  # raises where it is out of range
    return np.where((self >= -lambd) & (self <= lambd), self.dtype.type(0), self)


@operator(**HIDDEN)
@rounded_once
def softshrink(self: Array, lambd) -> Array:
    """self moved towards 0 by lambd, 0 where it would cross (F.softshrink)."""
    lambd = element(lambd, self.dtype)
    between = np.asarray(self * self.dtype.type(0))
    if isinstance(self, np.ndarray) and self.dtype in WIDE:
        # ATen's vectors, two at a time, have no negative zeros there.
        between[in_whole_vectors(self)] += 0
    moved = np.where(self < -lambd, self + lambd, between)
    return np.where(self > lambd, self - lambd, moved)


@softshrink.checked
def _check_range(self, lambd) -> None:
    require_floating(self, "softshrink_check")
    highest = float(ml_dtypes.finfo(self.dtype).max)
    lambd = element(lambd, float64.numpy)
    if not 0 <= lambd <= highest:
        raise RuntimeError(
            f"lambda must be in range [0, {highest:.6g}] for input dtype "
            f"{BY_NUMPY[self.dtype].legacy}, but found {lambd:.6g}"
        )


hardshrink.gradient(self=lambda F, grad, self, lambd: F.hardshrink_backward(grad, self, lambd))


def _check_shrunk_out(out, self, lambd) -> None:
    _check_range(self, lambd)
    same_dtype_out(out, self)


hardshrink.checks_out(same_dtype_out)
softshrink.checks_out(_check_shrunk_out, first=True)
softshrink.gradient(self=lambda F, grad, self, lambd: F.softshrink_backward(grad, self, lambd))


# -- leaky and exponential units: in place they save the result, not the input -----------------


def leaky(value, slope):
    """The kernel of leaky_relu and of rrelu outside training."""
    require_floating(value, "leaky_relu_cpu")
    return np.where(value > 0, value, value * element(slope, value.dtype))


@operator(**HIDDEN)
@rounded_once
def leaky_relu(self: Array, negative_slope) -> Array:
    """self above 0, negative_slope * self elsewhere (F.leaky_relu)."""
    return leaky(self, negative_slope)


@operator(node="LeakyReluBackward1", **HIDDEN)
@rounded_once
def leaky_relu_into(self: Array, negative_slope) -> Array:
    return leaky(self, negative_slope)


leaky_relu.gradient(self="F.leaky_relu_backward(grad, self, negative_slope, False)")
leaky_relu_into.gradient(self="F.leaky_relu_backward(grad, result, negative_slope, True)")


def _elu(value, alpha, scale, input_scale):
    require_floating(value, "elu_cpu")
    factor = element(alpha, value.dtype) * element(scale, value.dtype)
    below = np.expm1(value * element(input_scale, value.dtype)) * factor
    return np.where(value < 0, below, value * element(scale, value.dtype))


@operator(**HIDDEN)
@rounded_once
def elu(self: Array, alpha, scale, input_scale) -> Array:
    """scale * self above 0, scale * alpha * (exp(self * input_scale) - 1) elsewhere (F.elu)."""
    return _elu(self, alpha, scale, input_scale)


@operator(node="EluBackward1", **HIDDEN)
@rounded_once
def elu_into(self: Array, alpha, scale, input_scale) -> Array:
    return _elu(self, alpha, scale, input_scale)


@operator(**HIDDEN)
@rounded_once
def celu(self: Array, alpha) -> Array:
    """self above 0, alpha * (exp(self / alpha) - 1) elsewhere (F.celu)."""
    return _celu(self, alpha)


@operator(node="CeluBackward1", **HIDDEN)
@rounded_once
def celu_into(self: Array, alpha) -> Array:
    return _celu(self, alpha)


def _celu(value, alpha):
    alpha = element(alpha, float64.numpy).item()
    if alpha == 0:
        raise RuntimeError("ZeroDivisionError: alpha cannot be 0 for CELU")
    return _elu(value, alpha, 1.0, 1.0 / alpha)


elu.gradient(
    self=lambda F, grad, self, alpha, scale, input_scale: F.elu_backward(
        grad, alpha, scale, input_scale, False, self
    )
)
elu_into.gradient(
    self=lambda F, grad, result, alpha, scale, input_scale: F.elu_backward(
        grad, alpha, scale, input_scale, True, result
    )
)
celu.gradient(
    self=lambda F, grad, self, alpha: F.elu_backward(grad, alpha, 1, 1.0 / alpha, False, self)
)
celu_into.gradient(
    self=lambda F, grad, result, alpha: F.elu_backward(grad, alpha, 1, 1.0 / alpha, True, result)
)

SELU_ALPHA = 1.6732632423543772848170429916717
SELU_SCALE = 1.0507009873554804934193349852946


@function(method=False)
def selu(input):
    """elu with the constants that preserve mean 0 and variance 1 (torch.selu)."""
    return elu(input, SELU_ALPHA, SELU_SCALE, 1)


@function(method=False)
def selu_(input):
    """`selu` in place."""
    return elu_into.inplace(input, SELU_ALPHA, SELU_SCALE, 1)


@function("celu", method=False)
def celu_(input, alpha=1.0):
    """Continuously differentiable elu (torch.celu)."""
    return celu(input, alpha)


@function("celu_", method=False)
def celu_inplace(input, alpha=1.0):
    """`celu` in place."""
    return celu_into.inplace(input, alpha)


# -- smooth units ------------------------------------------------------------------------------


@operator(**HIDDEN, complex=NoComplex(derivative="silu"))
@rounded_once
def silu(self: Array) -> Array:
    """self * sigmoid(self) (F.silu)."""
    refuse_integers(self, "silu_cpu")
    return self / (1 + np.exp(-self))


@silu.gradients("self")
def _silu_slope(F, grad, self):
    if not F.records:
        return F.silu_backward(grad, self)
    sigmoid = F.sigmoid(self)
    rest = F.add_scalar(self * F.sub(1.0, sigmoid), 1.0)
    return grad * sigmoid * rest


@operator(**HIDDEN)
@rounded_once
def mish(self: Array) -> Array:
    """self * tanh(softplus(self)) (F.mish)."""
    require_floating(self, "mish_cpu")
    return self * np.tanh(np.log1p(np.exp(self)))


@mish.gradients("self")
def _mish_slope(F, grad, self):
    if not F.records:
        return F.mish_backward(grad, self)
    sigmoid = F.sigmoid(self)
    tanh = F.tanh(F.log1p(F.exp(self)))
    rest = F.sub(1.0, tanh * tanh)
    return grad * (tanh + self * sigmoid * rest)


def _infinite_as_in_onednn(kernel):
    """The kernel of `gelu` with NaN at infinity where torch calls oneDNN: for several elements of
    float32 or bfloat16 that lie row by row."""

    @functools.wraps(kernel)
    def call(self, approximate):
        result = kernel(self, approximate)
        several = self.size > 1 and self.flags.c_contiguous
        if several and approximate == "none" and self.dtype in _OF_ONEDNN:
            result[self == np.inf] = np.nan
        return result

    return call


_OF_ONEDNN = (np.dtype(np.float32), np.dtype(ml_dtypes.bfloat16))


@operator(**HIDDEN)
@_infinite_as_in_onednn
@rounded_once
def gelu(self: Array, approximate) -> Array:
    """self * Phi(self), Phi the normal distribution function or its tanh approximation (F.gelu)."""
    if approximate not in ("none", "tanh"):
        raise RuntimeError("approximate argument must be either none or tanh.")
    require_floating(self, "GeluKernelImpl")
    number = self.dtype.type
    if approximate == "none":
        return self * number(0.5) * (1 + erf_of(self * number(math.sqrt(0.5))))
    inner = number(math.sqrt(2 / math.pi)) * (self + number(0.044715) * self * self * self)
    return number(0.5) * self * (1 + np.tanh(inner))


gelu.gradient(
    self=lambda F, grad, self, approximate: F.gelu_backward(grad, self, approximate=approximate)
)


@operator(**HIDDEN)
@rounded_once
def softplus(self: Array, beta, threshold) -> Array:
    """log(1 + exp(beta * self)) / beta; self where beta * self > threshold (F.softplus)."""
    require_floating(self, "softplus_cpu")
    factor = element(beta, self.dtype)
    scaled = self * factor
    smooth = np.log1p(np.exp(scaled)) / factor
    return np.where(scaled > element(threshold, self.dtype), self, smooth)


for _op in (gelu, softplus):
    _op.checks_out(same_dtype_out)
softplus.gradient(
    self=lambda F, grad, self, beta, threshold: F.softplus_backward(grad, self, beta, threshold)
)


@operator(
    node="LogSigmoidBackward0",
    outputs=("output", "buffer"),
    function=False,
    method=False,
    layout_sensitive=True,
    torch_name="log_sigmoid",
    batching="pointwise",
)
@rounded_once
def log_sigmoid_forward(self: Array):
    require_floating(self, "log_sigmoid_cpu")
    buffer = np.exp(-np.abs(self))
    return np.minimum(self, self.dtype.type(0)) - np.log1p(buffer), buffer


log_sigmoid_forward.differentiable("output")
log_sigmoid_forward.gradient(
    self=lambda F, grad, self, buffer: F.log_sigmoid_backward(grad, self, buffer)
)
log_sigmoid_forward.forward(
    output=lambda F, self_t, self, buffer: F.log_sigmoid_backward(self_t, self, buffer)
)


gelu.on_large_meta(like_first)
