"""Losses between a prediction and a target, reduced by mean or sum or not at all."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from impl.dtypes import BY_NUMPY, bfloat16, float16, result_dtype
from impl.inplace import check_cast
from impl.messages import SUBTRACT_BOOLS
from impl.modes import no_grad
from impl.operator import RAW, TAPED, Array, formula_operation, function, operator
from impl.operators.arithmetic import div_scalar
from impl.operators.special import expit
from impl.precision import accumulator, rounded_once, rounded_once_in
from impl.refusals import require_floating

NONE, MEAN, SUM = 0, 1, 2
_SECOND: dict[str, Any] = {
    "function": False,
    "method": False,
    "elementwise": True,
    "numbers": False,
}
_FIRST = {**_SECOND, "promote": "arithmetic"}


def reduced(values, reduction: int):
    """The mean or sum of an array; half precision accumulates in float32."""
    if reduction == NONE:
        return values
    wide = accumulator(values.dtype)
    total = values.mean(dtype=wide) if reduction == MEAN and values.size else values.sum(dtype=wide)
    if reduction == MEAN and not values.size:
        total = total * np.nan
    return total.astype(values.dtype)


def _share(value, reduction: int, times: int = 1):
    """What one element's derivative is multiplied by: `times`, over the size in a mean."""
    averaged = reduction == MEAN and value.size
    return value.dtype.type(times / value.size) if averaged else times


def _count(value, reduction: int):
    size = value.size if isinstance(value, (np.ndarray, np.generic)) else value.numel()
    return size if reduction == MEAN else 1


# -- squared error -----------------------------------------------------------------------------


@operator(**_FIRST)
def mse_loss(self: Array, target: Array, reduction) -> Array:
    require_floating(self, "mse_cpu")
    difference = self - target
    return reduced(difference * difference, reduction)


@operator(node="MseLossBackwardBackward0", **_SECOND)
def mse_loss_backward(grad_output: Array, self: Array, target: Array, reduction) -> Array:
    difference = self - target
    return difference * _share(difference, reduction, 2) * grad_output


mse_loss.reduces = True
mse_loss.gradient(
    self=lambda F, grad, self, target, reduction: F.mse_loss_backward(
        grad, self, target, reduction
    ),
    target=lambda F, grad, self, target, reduction: F.mse_loss_backward(
        grad, target, self, reduction
    ),
)
mse_loss.forward(
    lambda F, self_t, self, target_t, target, reduction: _reduced_tangent(
        F,
        F.mse_loss_backward(self_t, self, target, NONE)
        + F.mse_loss_backward(target_t, target, self, NONE),
        self,
        reduction,
    )
)


def _square_curvature(F, value, self, reduction):
    count = _count(self, reduction)
    return F.mul_scalar(value, 2.0 / count if count else math.inf)


mse_loss_backward.gradient(
    grad_output=lambda F, grad, self, target, reduction: F.mse_loss_backward(
        grad, self, target, reduction
    ),
    self=lambda F, grad, grad_output, self, reduction: _square_curvature(
        F, grad * grad_output, self, reduction
    ),
    target=lambda F, grad, grad_output, target, reduction: (
        -_square_curvature(F, grad * grad_output, target, reduction)
    ),
)


@formula_operation
def reduced_gradient(values, like, reduction):
    return reduced(values, reduction)


def _reduced_gradient(values, like, reduction):
    if reduction == NONE:
        return values
    return values.mean() if reduction == MEAN else values.sum()


TAPED.reduced_gradient = _reduced_gradient


def _reduced_tangent(F, values, like, reduction):
    """The mean or sum of tangents; torch has the losses' in memory of the size before that."""
    tangent = F.reduced_gradient(values, like, reduction)
    return tangent if reduction == NONE or values.numel() <= 1 else F.rewritten(tangent)


# -- absolute error, smoothed at 0 -------------------------------------------------------------


@operator(**_FIRST)
def smooth_l1_loss(self: Array, target: Array, reduction, beta) -> Array:
    require_floating(self, "smooth_l1_cpu")
    return reduced(_smoothed(self, target, beta), reduction)


@rounded_once_in(bfloat16.numpy)
def _smoothed(self, target, beta):
    size = np.abs(self - target)
    half, width = size.dtype.type(0.5), size.dtype.type(beta)
    return np.where(size < width, half * size * size / width, size - half * width)


@operator(node="SmoothL1LossBackwardBackward0", **_SECOND)
@rounded_once
def smooth_l1_loss_backward(
    grad_output: Array, self: Array, target: Array, reduction, beta
) -> Array:
    x = self - target
    share = _share(x, reduction)
    inner = share * x * grad_output / x.dtype.type(beta)
    outer = np.where(x >= beta, share * grad_output, inner)
    return np.where(x <= -beta, -share * grad_output, outer)


@operator(**_SECOND)
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
    return np.where(size <= width, half * size * size, width * (size - half * width))


@operator(node="HuberLossBackwardBackward0", **_SECOND)
@rounded_once
def huber_loss_backward(grad_output: Array, self: Array, target: Array, reduction, delta) -> Array:
    x = self - target
    share = _share(x, reduction)
    outer = np.where(x >= delta, share * grad_output * x.dtype.type(delta), share * x * grad_output)
    return np.where(x <= -delta, -share * grad_output * x.dtype.type(delta), outer)


# Made in row-major memory, whatever the operands' layouts.
for _op in (mse_loss_backward, smooth_l1_loss_backward, huber_loss_backward):
    _op.layouts = lambda args: []
smooth_l1_loss.reduces = True
smooth_l1_loss.gradient(
    self=lambda F, grad, self, target, reduction, beta: F.smooth_l1_loss_backward(
        grad, self, target, reduction, beta
    ),
    target=lambda F, grad, self, target, reduction, beta: F.smooth_l1_loss_backward(
        grad, target, self, reduction, beta
    ),
)
smooth_l1_loss.forward(
    lambda F, self_t, self, target_t, target, reduction, beta: _reduced_tangent(
        F,
        F.smooth_l1_loss_backward(self_t, self, target, NONE, beta)
        + F.smooth_l1_loss_backward(target_t, target, self, NONE, beta),
        self,
        reduction,
    )
)
huber_loss.layouts = lambda args: [(args[0]._raw.shape, args[0].stride())]
huber_loss.forward(
    lambda F, self_t, self, target_t, target, reduction, delta: F.reduced_gradient(
        F.huber_loss_backward(self_t, self, target, NONE, delta)
        + F.huber_loss_backward(target_t, target, self, NONE, delta),
        self,
        reduction,
    )
)
huber_loss.gradient(
    self=lambda F, grad, self, target, reduction, delta: _huber_slope(
        F, grad, self, target, reduction, delta
    ),
    target=lambda F, grad, self, target, reduction, delta: _huber_slope(
        F, grad, target, self, reduction, delta
    ),
)


def _huber_slope(F, grad, self, target, reduction, delta):
    if self.dtype != target.dtype:
        raise RuntimeError(_found(target, self))
    return F.huber_loss_backward(grad, self, target, reduction, delta)


def _found(value, expected) -> str:
    found, wanted = (
        d.legacy if hasattr(d, "legacy") else BY_NUMPY[d].legacy
        for d in (value.dtype, expected.dtype)
    )
    return f"Found dtype {found} but expected {wanted}"


def _smooth_curvature(F, value, self, target, reduction, beta):
    x = self - target
    curved = (x > -beta) & (x < beta)
    return F.div_scalar(F.div_scalar(value * curved, beta), _count(x, reduction))


def _huber_curvature(F, value, self, target, reduction, delta):
    x = self - target
    curved = (x > -delta) & (x < delta)
    return F.div_scalar(value * curved, _count(x, reduction))


smooth_l1_loss_backward.gradient(
    grad_output=lambda F, grad, self, target, reduction, beta: F.smooth_l1_loss_backward(
        grad, self, target, reduction, beta
    ),
    self=lambda F, grad, grad_output, self, target, reduction, beta: _smooth_curvature(
        F, grad * grad_output, self, target, reduction, beta
    ),
    target=lambda F, grad, grad_output, self, target, reduction, beta: (
        -_smooth_curvature(F, grad * grad_output, self, target, reduction, beta)
    ),
)
huber_loss_backward.gradient(
    grad_output=lambda F, grad, self, target, reduction, delta: F.reduced_gradient(
        F.huber_loss_backward(grad, self, target, NONE, delta), self, reduction
    ),
    self=lambda F, grad, grad_output, self, target, reduction, delta: _huber_curvature(
        F, grad * grad_output, self, target, reduction, delta
    ),
    target=lambda F, grad, grad_output, self, target, reduction, delta: (
        -_huber_curvature(F, grad * grad_output, self, target, reduction, delta)
    ),
)


# -- binary cross entropy ----------------------------------------------------------------------


@operator(**_SECOND)
def binary_cross_entropy(self: Array, target: Array, weight: Array | None, reduction) -> Array:
    loss = _cross_entropy(self, target)
    return reduced(loss if weight is None else loss * weight, reduction).astype(self.dtype)


@binary_cross_entropy.checked
def _check_probabilities(self, target, weight, reduction) -> None:
    if target.dtype != self.dtype:
        raise RuntimeError(_found(target, self))


def _cross_entropy(self, target):
    inside, also = (self >= 0) & (self <= 1), (target >= 0) & (target <= 1)
    if not np.all(inside & also):
        first = np.argmin(inside & also)
        name = "target" if np.ravel(inside)[first] else "input"
        raise RuntimeError(f"all elements of {name} should be between 0 and 1")
    # The logarithms are cut off at -100, so that a certain but wrong prediction stays finite.
    number = self.dtype.type
    low = number(-100)
    loss = (target - 1) * np.maximum(np.log1p(-self), low)
    return loss - target * np.maximum(np.log(self), low)


@operator(node="BinaryCrossEntropyBackwardBackward0", **_SECOND)
def binary_cross_entropy_backward(
    grad_output: Array, self: Array, target: Array, weight: Array | None, reduction
) -> Array:
    product = np.maximum((1 - self) * self, self.dtype.type(1e-12))
    value = grad_output * (self - target) / product
    if weight is not None:
        value = value * weight
    return value * _share(self, reduction)


@formula_operation
def bce_of_target(grad, self, target, weight, reduction):
    """The gradient of the target, which ATen makes in the memory of its first step."""
    value = -RAW.logit(self) * grad
    if weight is not None:
        value = value * weight
    return RAW.div_scalar(value, _count(target, MEAN)) if reduction == MEAN else value


def _bce_of_target_taped(grad, self, target, weight, reduction):
    value = TAPED.logit(self).neg_().mul_(grad)
    if weight is not None:
        value.mul_(weight)
    return div_scalar.inplace(value, _count(target, MEAN)) if reduction == MEAN else value


TAPED.bce_of_target = _bce_of_target_taped


def _bce_of_target(F, grad, self, target, weight, reduction):
    return F.bce_of_target(grad, self, target, weight, reduction)


binary_cross_entropy.gradient(
    self=lambda F, grad, self, target, weight, reduction: F.binary_cross_entropy_backward(
        grad, self, target, weight, reduction
    ),
    target=_bce_of_target,
)
binary_cross_entropy.forward(
    lambda F, self_t, self, target_t, target, weight, reduction: _reduced_tangent(
        F,
        F.binary_cross_entropy_backward(self_t, self, target, weight, NONE)
        + _bce_of_target(F, target_t, self, target, weight, NONE),
        self,
        reduction,
    )
)


# ATen keeps the denominators away from 0, each in its way.


@formula_operation
def away_from_zero(value):
    """A value of at least 1e-12, as if it had been so: what replaces it has no derivative."""
    return np.maximum(value, value.dtype.type(1e-12))


def _away_from_zero_taped(value):
    with no_grad():
        value.clamp_min_(1e-12)
    return value


TAPED.away_from_zero = _away_from_zero_taped


def _bce_sides(F, self):
    """self and 1 - self, each a little larger."""
    return F.add_scalar(self, 1e-12), F.add_scalar(F.sub(1.0, self), 1e-12)


def _bce_of_grad(F, grad, self, target, weight, reduction):
    inside, outside = _bce_sides(F, self)
    value = _weighted(F, (self - target) / (inside * outside) * grad, self, weight, reduction)
    return value if reduction == NONE else F.sum_all(value)


def _bce_curvature(F, grad, grad_output, self, target, weight, reduction):
    inside, outside = _bce_sides(F, self)
    slope = self * self - F.mul_scalar(self, 2) * target + target
    value = slope / (F.pow_scalar(inside, 2) * F.pow_scalar(outside, 2)) * (grad * grad_output)
    return _weighted(F, value, self, weight, reduction)


def _bce_mixed(F, grad, grad_output, self, weight, reduction):
    value = -grad * grad_output
    if weight is not None:
        value = value * weight
    value = value / F.away_from_zero(F.sub(1.0, self) * self)
    return F.div_scalar(value, _count(self, MEAN)) if reduction == MEAN else value


def _weighted(F, value, self, weight, reduction):
    if weight is not None:
        value = value * weight
    return F.div_scalar(value, _count(self, MEAN)) if reduction == MEAN else value


binary_cross_entropy_backward.layouts = lambda args: [(args[1]._raw.shape, args[1].stride())]
binary_cross_entropy_backward.gradient(
    grad_output=_bce_of_grad,
    self=_bce_curvature,
    target=_bce_mixed,
)


@operator(node="BinaryCrossEntropyWithLogitsBackward0", **_SECOND)
def binary_cross_entropy_with_logits(
    self: Array, target: Array, weight: Array | None, pos_weight: Array | None, reduction
) -> Array:
    loss = _logits(self, target, pos_weight)
    return reduced(loss if weight is None else loss * weight, reduction).astype(target.dtype)


@binary_cross_entropy_with_logits.checked
def _check_logits(self, target, weight, pos_weight, reduction) -> None:
    require_floating(self, "log_sigmoid_cpu")
    # torch computes (1 - target) * self in place of the former, whose dtype and layout stay.
    if target.dtype.kind == "b":
        raise RuntimeError(SUBTRACT_BOOLS)
    check_cast(result_dtype([self, target]).numpy, target.dtype)


def _layout_of_target(args):
    return [(args[1]._raw.shape, args[1].stride())]


binary_cross_entropy_with_logits.layouts = _layout_of_target


def _logits(self, target, pos_weight):
    smooth = _minus_log_sigmoid(self)
    if pos_weight is not None:
        smooth = ((pos_weight - 1) * target + 1) * smooth
    return (1 - target) * self + smooth


@rounded_once
def _minus_log_sigmoid(x):
    return np.log1p(np.exp(-np.abs(x))) + np.maximum(-x, x.dtype.type(0))


def _bcel_of_logits(F, grad, self, target, weight, pos_weight, reduction):
    if pos_weight is None:
        value = (F.sigmoid(self) - target) * grad
    else:
        hot = pos_weight * target
        value = ((F.add_scalar(hot, 1) - target) * F.sigmoid(self) - hot) * grad
    return _weighted(F, value, self, weight, reduction)


def _bcel_of_target(F, grad, self, target, weight, pos_weight, reduction):
    if pos_weight is None:
        value = -self * grad
    else:
        value = (F.log_sigmoid(-self) - pos_weight * F.log_sigmoid(self)) * grad
    return _weighted(F, value, target, weight, reduction)


binary_cross_entropy_with_logits.gradient(self=_bcel_of_logits, target=_bcel_of_target)


@formula_operation
def log_sigmoid(value):
    return np.minimum(value, 0) + np.log(np.maximum(expit(np.abs(value)), 0))


def _log_sigmoid(value):
    from impl.operators.activations import log_sigmoid_forward

    return log_sigmoid_forward(value)[0]


TAPED.log_sigmoid = _log_sigmoid
function("binary_cross_entropy_with_logits", method=False)(binary_cross_entropy_with_logits)
