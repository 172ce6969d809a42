"""The derivatives of activations, each an operator with a derivative of its own, as in torch."""

from __future__ import annotations

import functools
import math
from collections.abc import Collection
from typing import Any

import numpy as np

from impl.core.dtypes import REDUCED, WIDE
from impl.core.meta_functions import like_first
from impl.core.registry import array_ops, tensor_ops
from impl.dispatch.definition import Array, formula_operation, operator
from impl.dispatch.not_implemented import no_derivative, require_same_dtype
from impl.kernels.casting import check_numbers, element
from impl.kernels.reduced_precision import kept_where, rounded_once
from impl.kernels.vectorized import LONG_VECTOR, VECTOR, in_whole_vectors
from impl.operators.pointwise.special import erf_of, expit

HIDDEN: dict[str, Any] = {"function": False, "method": False, "elementwise": True, "numbers": False}


def _unordered_in_vectors(value, kinds: Collection[np.dtype], width: int, limited: bool = False):
    """Decorator for the kernel of a gradient: where a comparison meets a NaN, ATen's loops have
    `value` in whole vectors, and the result of the kernel only in the rest.

    It applies to the given dtypes. If `limited`, the elements are compared with the numbers.
    """

    def decorated(kernel):
        @functools.wraps(kernel)
        def call(*args):
            result = kernel(*args)
            arrays: list[Any] = [a for a in args if isinstance(a, (np.ndarray, np.generic))]
            grad_output, self = arrays
            limits = args[2:] if limited else ()
            unordered = self != self if all(n == n for n in limits) else np.ones_like(self, bool)
            if self.dtype not in kinds or not unordered.any():
                return result
            unordered = unordered & in_whole_vectors(grad_output, self, width=width)
            return np.where(unordered, result.dtype.type(value), result)

        return call

    return decorated


def _nothing(F, grad):
    return F.zeros_like(grad)


@operator(node="ThresholdBackwardBackward0", **HIDDEN)
@rounded_once
def threshold_backward(grad_output: Array, self: Array, threshold) -> Array:
    if threshold:
        check_numbers(self.dtype, threshold)
        threshold = element(threshold, self.dtype)
    return kept_where(~(self <= threshold), grad_output)


def laid_out_as_self(args):
    """The order in which some of ATen's kernels take the operands (grad_output, self)."""
    return [(t._raw.shape, t.stride()) for t in (args[1], args[0])]


threshold_backward.laid_out_as(laid_out_as_self)

threshold_backward.gradient(
    grad_output=lambda F, grad, self, threshold: F.threshold_backward(grad, self, threshold),
    self=_nothing,
).forward(
    lambda F, grad_output_t, self_t, self, threshold: (
        F.zeros_like(self_t) + F.threshold_backward(grad_output_t, self, threshold)
    )
)


@operator(node="HardtanhBackwardBackward0", **HIDDEN)
@_unordered_in_vectors(0, (*WIDE, *REDUCED), VECTOR, limited=True)
@rounded_once
def hardtanh_backward(grad_output: Array, self: Array, min_val, max_val) -> Array:
    return kept_where(~((self <= min_val) | (self >= max_val)), grad_output)


hardtanh_backward.gradient(
    grad_output="F.hardtanh_backward(grad, self, min_val, max_val)",
    self=_nothing,
)


@operator(node="NotImplemented", **HIDDEN)
@rounded_once
def hardsigmoid_backward(grad_output: Array, self: Array) -> Array:
    # ATen's constant is a float32 whatever the dtype.
    sixth = grad_output.dtype.type(np.float32(1) / np.float32(6))
    return np.where((self > -3) & (self < 3), grad_output * sixth, 0)


hardsigmoid_backward.gradients("grad_output", "self")(no_derivative("hardsigmoid_backward"))


@operator(node="HardswishBackwardBackward0", **HIDDEN)
@_unordered_in_vectors(math.nan, WIDE, LONG_VECTOR)
@rounded_once
def hardswish_backward(grad_output: Array, self: Array) -> Array:
    middle = grad_output * (self / 3 + self.dtype.type(0.5))
    return np.where(self <= -3, 0, np.where(self < 3, middle, grad_output))


hardswish_backward.gradient(
    grad_output=lambda F, grad, self: F.hardswish_backward(grad, self),
    self=lambda F, grad, grad_output, self: F.where(
        (self > -3.0) & (self < 3.0), F.div_scalar(grad * grad_output, 3.0), 0
    ),
).forward(
    lambda F, grad_output_t, self_t, grad_output, self: (
        F.hardswish_backward(grad_output_t, self)
        + F.where((self > -3.0) & (self < 3.0), F.div_scalar(self_t * grad_output, 3.0), 0)
    )
)


@operator(node="HardshrinkBackwardBackward0", **HIDDEN)
@_unordered_in_vectors(0, (*WIDE, *REDUCED), VECTOR, limited=True)
@rounded_once
def hardshrink_backward(grad_out: Array, self: Array, lambd) -> Array:
    return np.where((self >= -lambd) & (self <= lambd), 0, grad_out)


hardshrink_backward.gradient(
    grad_out=lambda F, grad, self, lambd: F.hardshrink_backward(grad, self, lambd),
    self=_nothing,
)


@operator(node="SoftshrinkBackwardBackward0", **HIDDEN)
@_unordered_in_vectors(0, (*WIDE, *REDUCED), VECTOR, limited=True)
@rounded_once
def softshrink_backward(grad_output: Array, self: Array, lambd) -> Array:
    return np.where((self >= -lambd) & (self <= lambd), 0, grad_output)


softshrink_backward.gradient(
    grad_output=lambda F, grad, self, lambd: F.softshrink_backward(grad, self, lambd),
    self=_nothing,
)


def _slope_below(grad, self, slope):
    return np.where(self > 0, grad, grad * grad.dtype.type(slope))


@operator(node="LeakyReluBackwardBackward0", **HIDDEN)
@rounded_once
def leaky_relu_backward(grad_output: Array, self: Array, negative_slope, is_result) -> Array:
    if is_result and negative_slope < 0:
        raise RuntimeError(
            "In-place leakyReLu backward calculation is triggered with a negative slope which is "
            "not supported. This is caused by calling in-place forward function with a negative "
            "slope, please call out-of-place version instead. File an issue at "
            "https://github.com/pytorch/pytorch if you do require supporting in-place leakRelu "
            "backward calculation with negative slope"
        )
    return _slope_below(grad_output, self, negative_slope)


leaky_relu_backward.laid_out_as(laid_out_as_self)
leaky_relu_backward.gradient(
    grad_output="F.leaky_relu_backward(grad, self, negative_slope, False)",
    self=_nothing,
)


@operator(node="RreluWithNoiseBackwardBackward0", **HIDDEN)
@rounded_once
def rrelu_with_noise_backward(
    grad_output: Array, self: Array, noise: Array, lower, upper, training, self_is_result
) -> Array:
    if training:
        return grad_output * noise
    return array_ops.leaky_relu_backward(grad_output, self, (lower + upper) / 2, self_is_result)


@rrelu_with_noise_backward.laid_out_as
def _rrelu_layouts(args):
    grad_output, self, noise, _, _, training, _ = args
    if training:
        return [(t._raw.shape, t.stride()) for t in (noise, grad_output)]
    return laid_out_as_self((grad_output, self))


rrelu_with_noise_backward.gradient(
    grad_output="F.rrelu_with_noise_backward(grad, self, noise, lower, upper, training, False)",
    self=_nothing,
)


@operator(node="EluBackwardBackward0", **HIDDEN)
@_unordered_in_vectors(math.nan, WIDE, LONG_VECTOR)
@rounded_once
def elu_backward(
    grad_output: Array, alpha, scale, input_scale, is_result, self_or_result: Array
) -> Array:
    number = grad_output.dtype.type
    if is_result:
        if alpha < 0:
            raise RuntimeError(
                "In-place elu backward calculation is triggered with a negative slope which is "
                "not supported. This is caused by calling in-place forward function with a "
                "negative slope, please call out-of-place version instead."
            )
        below = grad_output * number(input_scale) * (self_or_result + number(alpha * scale))
    else:
        decay = np.exp(self_or_result * number(input_scale))
        below = grad_output * number(input_scale * alpha * scale) * decay
    return np.where(self_or_result <= 0, below, grad_output * number(scale))


def _elu_curvature(F, grad, grad_output, alpha, scale, input_scale, is_result, self_or_result):
    value = F.mul_scalar(grad * grad_output, input_scale)
    if not is_result:
        value = F.elu_backward(value, alpha, scale, input_scale, False, self_or_result)
    return value * F.cast_like(self_or_result < 0, grad)


@formula_operation
def cast_like(value, like):
    return value.astype(like.dtype)


tensor_ops.cast_like = lambda value, like: value.to(like.dtype)


elu_backward.gradient(
    grad_output="F.elu_backward(grad, alpha, scale, input_scale, is_result, self_or_result)",
    self_or_result=_elu_curvature,
)


# -- smooth units ------------------------------------------------------------------------------


@operator(node="GeluBackwardBackward0", **HIDDEN)
@rounded_once
def gelu_backward(grad_output: Array, self: Array, *, approximate) -> Array:
    return grad_output * _gelu_slope(self, approximate)


def _gelu_slope(x, approximate):
    number = x.dtype.type
    if approximate == "none":
        below = number(0.5) * (1 + erf_of(x * number(math.sqrt(0.5))))
        density = np.exp(x * x * number(-0.5)) * number(1 / math.sqrt(2 * math.pi))
        return below + x * density
    scale, cubic = number(math.sqrt(2 / math.pi)), number(0.044715)
    tanh = np.tanh(scale * (x + cubic * x * x * x))
    inner = scale * (1 + 3 * cubic * x * x)
    return number(0.5) * (1 + tanh) + number(0.5) * x * (1 - tanh * tanh) * inner


def _gelu_curvature(F, grad, grad_output, self, approximate):
    both = grad * grad_output
    if approximate == "none":
        square = self * self
        exponential = F.exp(F.mul_scalar(square, -0.5))
        density = F.mul_scalar(exponential, 1 / math.sqrt(2 * math.pi))
        falling = square * density
        return both * (F.mul_scalar(density, 2) - falling)
    scale, cubic = math.sqrt(2 / math.pi), 0.044715
    inner = F.mul_scalar(self + F.mul_scalar(F.pow_scalar(self, 3), cubic), scale)
    tanh = F.tanh(inner)
    sech = F.true_div(1.0, F.cosh(inner))
    # The product of half the input, of 1 - tanh^2 and of the slope of `inner`, differentiated.
    half = F.mul_scalar(self, 0.5)
    bell = F.sub(1.0, tanh * tanh)
    slope = F.mul_scalar(F.add_scalar(F.mul_scalar(self, 3 * cubic) * self, 1), scale)
    of_half = F.mul_scalar(bell, 0.5) * slope
    of_bell = -sech * tanh
    of_bell = (half * slope) * (F.mul_scalar(sech, 2) * of_bell * slope)
    of_slope = (half * bell) * F.mul_scalar(F.mul_scalar(self, 6 * cubic), scale)
    return both * (F.mul_scalar(of_half, 2) + of_bell + of_slope)


gelu_backward.gradient(
    grad_output="F.gelu_backward(grad, self, approximate=approximate)",
    self=_gelu_curvature,
)


@operator(node="SoftplusBackwardBackward0", **HIDDEN)
@rounded_once
def softplus_backward(grad_output: Array, self: Array, beta, threshold) -> Array:
    scaled = self * self.dtype.type(beta)
    growth = np.exp(scaled)
    return np.where(scaled > threshold, grad_output, grad_output * growth / (growth + 1))


def _softplus_curvature(F, grad, grad_output, self, beta, threshold):
    scaled = F.mul_scalar(self, beta)
    curvature = F.sigmoid_backward(grad * grad_output, F.sigmoid(scaled))
    return F.mul_scalar(curvature * (scaled < threshold), beta)


softplus_backward.gradient(
    grad_output="F.softplus_backward(grad, self, beta, threshold)",
    self=_softplus_curvature,
)


@operator(node="LogSigmoidBackwardBackward0", **HIDDEN)
@rounded_once
def log_sigmoid_backward(grad_output: Array, self: Array, buffer: Array) -> Array:
    require_same_dtype(grad_output, self.dtype)
    below = self < 0
    part = buffer / (1 + buffer)
    return np.where(below, 1 - part, part) * grad_output


# Made in memory like the cotangent's.
log_sigmoid_backward.laid_out_as(lambda args: [(args[0]._raw.shape, args[0].stride())])


def _log_sigmoid_curvature(F, grad, grad_output, self):
    sigmoid = F.sigmoid(self)
    return grad * grad_output * F.sub_scalar(sigmoid, 1) * sigmoid


log_sigmoid_backward.gradient(
    grad_output=lambda F, grad, self, buffer: F.log_sigmoid_backward(grad, self, buffer),
    self=_log_sigmoid_curvature,
)
log_sigmoid_backward.forward("elementwise")


# Double backward records the formula step by step, with a rounding for each step.


@operator(**HIDDEN)
@rounded_once
def silu_backward(grad_output: Array, self: Array) -> Array:
    sigmoid = expit(self)
    return grad_output * sigmoid * (1 + self * (1 - sigmoid))


silu_backward.forward("unknown")


@operator(**HIDDEN)
@rounded_once
def mish_backward(grad_output: Array, self: Array) -> Array:
    tanh = np.tanh(np.log1p(np.exp(self)))
    return grad_output * (tanh + self * expit(self) * (1 - tanh * tanh))


mish_backward.forward("unknown")


gelu_backward.on_large_meta(like_first)
