"""Losses between a prediction and a target, with mean, sum or no reduction."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from impl.core.dtypes import BY_NUMPY, bfloat16, float16, result_dtype
from impl.core.registry import tensor_ops
from impl.dispatch.definition import Array, formula_operation, operator, written
from impl.dispatch.gradient_plan import OfArguments
from impl.dispatch.not_implemented import require_floating, require_same_dtype
from impl.kernels.reduced_precision import accumulate_dtype, rounded_once, rounded_once_in
from impl.tensor.memory_overlap import check_cast

NONE, MEAN, SUM = 0, 1, 2
SECOND: dict[str, Any] = {
    "function": False,
    "method": False,
    "elementwise": True,
    "numbers": False,
}
FIRST = {**SECOND, "promote": "arithmetic"}


def reduced(values, reduction: int):
    """The mean or sum of an array; half precision accumulates in float32.

    Any other number leaves it as it is (apply_loss_reduction).
    """
    if reduction not in (MEAN, SUM):
        return values
    wide = accumulate_dtype(values.dtype)
    total = values.mean(dtype=wide) if reduction == MEAN and values.size else values.sum(dtype=wide)
    if reduction == MEAN and not values.size:
        total = total * np.nan
    return total.astype(values.dtype)


def share(value, reduction: int, times: int = 1):
    """The factor of one element's derivative: `times`, divided by the number of elements in a
    mean."""
    averaged = reduction == MEAN and value.size
    return value.dtype.type(times / value.size) if averaged else times


def count(value, reduction: int):
    size = value.size if isinstance(value, (np.ndarray, np.generic)) else value.numel()
    return size if reduction == MEAN else 1


def writes_of(args) -> int:
    """How often ATen writes the loss of these arguments: where it is reduced, and where that
    removes dimensions."""
    self, target, *_ = args
    reduction = next(value for value in args[2:] if isinstance(value, int))
    if reduction not in (MEAN, SUM):
        return 0
    return 1 + bool(self._raw.ndim or target._raw.ndim)


# -- squared error -----------------------------------------------------------------------------


@operator(**FIRST, autocast="fp32", writes=writes_of, reduces=True)
def mse_loss(self: Array, target: Array, reduction) -> Array:
    require_floating(self, "mse_cpu")
    difference = self - target
    return reduced(difference * difference, reduction)


@operator(node="MseLossBackwardBackward0", **SECOND)
def mse_loss_backward(grad_output: Array, self: Array, target: Array, reduction) -> Array:
    """The slope of mse_loss, in the dtype of `self`: ATen writes it into zeros_like(self)."""
    difference = self - target
    slope = difference * share(difference, reduction, 2) * grad_output
    return slope.astype(self.dtype, copy=False)


mse_loss.gradient(
    self="F.mse_loss_backward(grad, self, target, reduction)",
    target=lambda F, grad, self, target, reduction: F.mse_loss_backward(
        grad, target, self, reduction
    ),
)
mse_loss.forward(
    lambda F, self_t, self, target_t, target, reduction: reduced_tangent(
        F,
        F.mse_loss_backward(self_t, self, target, NONE)
        + F.mse_loss_backward(target_t, target, self, NONE),
        self,
        reduction,
    )
)


def of_mean(formula):
    """Mark a formula of a loss's second derivative, which ATen divides in place for a mean."""
    return written(
        formula,
        OfArguments(lambda grad_output, self, target, reduction, *_: int(reduction == MEAN)),
    )


def _square_curvature(F, grad, grad_output, self, reduction):
    value = grad * grad_output
    number = count(self, reduction)
    return F.mul_scalar(value, 2.0 / number if number else math.inf)


mse_loss_backward.gradient(
    grad_output="F.mse_loss_backward(grad, self, target, reduction)",
    self=of_mean(_square_curvature),
    target=lambda F, grad, grad_output, target, reduction: (
        -_square_curvature(F, grad, grad_output, target, reduction)
    ),
)


mse_loss_backward.forward(
    lambda F, grad_output_t, grad_output, self_t, self, target_t, target, reduction: (
        _square_curvature(F, self_t, grad_output, self, reduction)
        - _square_curvature(F, target_t, grad_output, target, reduction)
        + F.mse_loss_backward(grad_output_t, self, target, reduction)
    )
)


@formula_operation
def reduced_gradient(values, like, reduction):
    return reduced(values, reduction)


def _reduced_gradient(values, like, reduction):
    if reduction not in (MEAN, SUM):
        return values
    return values.mean() if reduction == MEAN else values.sum()


tensor_ops.reduced_gradient = _reduced_gradient


def reduced_tangent(F, values, like, reduction):
    """The mean or sum of tangents, copied (`rewritten`) because torch's reduced losses keep the
    memory of the unreduced ones."""
    tangent = F.reduced_gradient(values, like, reduction)
    return tangent if reduction == NONE or values.numel() <= 1 else F.rewritten(tangent)


# -- absolute error, smoothed at 0 -------------------------------------------------------------


@operator(**FIRST, autocast="fp32", writes=writes_of, reduces=True)
def smooth_l1_loss(self: Array, target: Array, reduction, beta) -> Array:
    require_floating(self, "smooth_l1_cpu")
    return reduced(_smoothed(self, target, beta), reduction)


@rounded_once_in(bfloat16.numpy)
def _smoothed(self, target, beta):
    size = np.abs(self - target)
    half, width = size.dtype.type(0.5), size.dtype.type(beta)
    return np.where(size < width, half * size * size / width, size - half * width)


@operator(node="SmoothL1LossBackwardBackward0", **SECOND)
@rounded_once
def smooth_l1_loss_backward(
    grad_output: Array, self: Array, target: Array, reduction, beta
) -> Array:
    """The slope of smooth_l1_loss, in the dtype of `self`: ATen writes it into zeros_like(self)."""
    x = self - target
    each = share(x, reduction)
    inner = each * x * grad_output / x.dtype.type(beta)
    outer = np.where(x >= beta, each * grad_output, inner)
    return np.where(x <= -beta, -each * grad_output, outer).astype(self.dtype, copy=False)


@operator(**SECOND, autocast="fp32")
def huber_loss(self: Array, target: Array, reduction, delta) -> Array:
    return reduced(_huber(self, target, delta), reduction).astype(self.dtype)


@huber_loss.checked
def _check_huber(self, target, reduction, delta) -> None:
    common = result_dtype([self, target]).numpy
    check_cast(common, self.dtype)
    require_floating(np.empty(0, common), "huber_cpu")


@rounded_once_in(float16.numpy)
def _huber(self, target, delta):
    size = np.abs(self - target)
    half, width = size.dtype.type(0.5), size.dtype.type(delta)
    return np.where(size < width, half * size * size, width * (size - half * width))


@operator(node="HuberLossBackwardBackward0", **SECOND)
@rounded_once
def huber_loss_backward(grad_output: Array, self: Array, target: Array, reduction, delta) -> Array:
    require_same_dtype(grad_output, self.dtype)
    x = self - target
    each = share(x, reduction)
    outer = np.where(x >= delta, each * grad_output * x.dtype.type(delta), each * x * grad_output)
    return np.where(x <= -delta, -each * grad_output * x.dtype.type(delta), outer)


def _check_slope(grad_output, self, target, *_) -> None:
    """Raise RuntimeError if the slope cannot be in the dtype of `self`."""
    check_cast(result_dtype([grad_output, self, target]).numpy, self.dtype)


mse_loss_backward.checked(_check_slope)
smooth_l1_loss_backward.checked(_check_slope)
# Results are row-major, whatever the operands' layouts.
for _op in (mse_loss_backward, smooth_l1_loss_backward, huber_loss_backward):
    _op.laid_out_as(lambda args: [])
smooth_l1_loss.gradient(
    self="F.smooth_l1_loss_backward(grad, self, target, reduction, beta)",
    target=lambda F, grad, self, target, reduction, beta: F.smooth_l1_loss_backward(
        grad, target, self, reduction, beta
    ),
)
smooth_l1_loss.forward(
    lambda F, self_t, self, target_t, target, reduction, beta: reduced_tangent(
        F,
        F.smooth_l1_loss_backward(self_t, self, target, NONE, beta)
        + F.smooth_l1_loss_backward(target_t, target, self, NONE, beta),
        self,
        reduction,
    )
)
huber_loss.laid_out_as(lambda args: [(args[0]._raw.shape, args[0].stride())])
huber_loss.forward(
    lambda F, self_t, self, target_t, target, reduction, delta: F.reduced_gradient(
        _sum_from_right(
            lambda: _huber_slope(F, self_t, self, target, NONE, delta),
            lambda: _huber_slope(F, target_t, target, self, NONE, delta),
        ),
        self,
        reduction,
    )
)


def _sum_from_right(first, second):
    """The sum of two terms of which C++ computes the second one first."""
    right = second()
    return first() + right


@huber_loss_backward.batches
def _huber_by_parts(args, level):
    """ATen's decomposition, whose operators have forward rules."""
    grad, self, target, reduction, delta = args
    x = self - target
    scaled = grad / count(x, reduction) if reduction == MEAN else grad
    inner = tensor_ops.where(x > delta, scaled * delta, scaled * x)
    return tensor_ops.where(x < -delta, -scaled * delta, inner)


def _huber_slope(F, grad, self, target, reduction, delta):
    if self.dtype != target.dtype:
        raise RuntimeError(found_dtype(target, self))
    return F.huber_loss_backward(grad, self, target, reduction, delta)


huber_loss.gradient(
    self=_huber_slope,
    target=lambda F, grad, self, target, reduction, delta: _huber_slope(
        F, grad, target, self, reduction, delta
    ),
)


def found_dtype(value, expected) -> str:
    found, wanted = (
        d.legacy if hasattr(d, "legacy") else BY_NUMPY[d].legacy
        for d in (value.dtype, expected.dtype)
    )
    return f"Found dtype {found} but expected {wanted}"


def _smooth_curvature(F, grad, grad_output, self, target, reduction, beta):
    value = grad * grad_output
    x = self - target
    curved = (x > -beta) & (x < beta)
    return F.div_scalar(F.div_scalar(value * curved, beta), count(x, reduction))


def _huber_curvature(F, grad, grad_output, self, target, reduction, delta):
    value = grad * grad_output
    x = self - target
    curved = (x > -delta) & (x < delta)
    return F.div_scalar(value * curved, count(x, reduction))


smooth_l1_loss_backward.gradient(
    grad_output="F.smooth_l1_loss_backward(grad, self, target, reduction, beta)",
    self=of_mean(_smooth_curvature),
    target=lambda F, grad, grad_output, self, target, reduction, beta: (
        -_smooth_curvature(F, grad, grad_output, self, target, reduction, beta)
    ),
)
huber_loss_backward.forward("unsupported", name="huber_loss_backward", invited=True)
huber_loss_backward.gradient(
    grad_output=lambda F, grad, self, target, reduction, delta: F.reduced_gradient(
        F.huber_loss_backward(grad, self, target, NONE, delta), self, reduction
    ),
    self=of_mean(_huber_curvature),
    target=lambda F, grad, grad_output, self, target, reduction, delta: (
        -_huber_curvature(F, grad, grad_output, self, target, reduction, delta)
    ),
)
