"""Binary cross entropy, of probabilities and of logits."""

from __future__ import annotations

import numpy as np

from impl.dtypes import result_dtype
from impl.inplace import check_cast
from impl.messages import SUBTRACT_BOOLS
from impl.modes import no_grad
from impl.operator import (
    RAW,
    TAPED,
    Array,
    OfArguments,
    formula_operation,
    function,
    operator,
    written,
)
from impl.operators.arithmetic import div_scalar
from impl.operators.losses import (
    MEAN,
    NONE,
    SECOND,
    count,
    found_dtype,
    reduced,
    reduced_tangent,
    share,
)
from impl.operators.special import expit
from impl.precision import rounded_once
from impl.refusals import require_floating
from impl.tensor import Tensor


@operator(**SECOND)
def binary_cross_entropy(self: Array, target: Array, weight: Array | None, reduction) -> Array:
    loss = _cross_entropy(self, target)
    return reduced(loss if weight is None else loss * weight, reduction).astype(self.dtype)


@binary_cross_entropy.checked
def _check_probabilities(self, target, weight, reduction) -> None:
    if target.dtype != self.dtype:
        raise RuntimeError(found_dtype(target, self))


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


@operator(node="BinaryCrossEntropyBackwardBackward0", **SECOND)
def binary_cross_entropy_backward(
    grad_output: Array, self: Array, target: Array, weight: Array | None, reduction
) -> Array:
    product = np.maximum((1 - self) * self, self.dtype.type(1e-12))
    value = grad_output * (self - target) / product
    if weight is not None:
        value = value * weight
    return value * share(self, reduction)


@formula_operation
def bce_of_target(grad, self, target, weight, reduction):
    """The gradient of the target, which ATen makes in the memory of its first step."""
    value = -RAW.logit(self) * grad
    if weight is not None:
        value = value * weight
    return RAW.div_scalar(value, count(target, MEAN)) if reduction == MEAN else value


def _bce_of_target_taped(grad, self, target, weight, reduction):
    value = TAPED.logit(self).neg_().mul_(grad)
    if weight is not None:
        value.mul_(weight)
    return div_scalar.inplace(value, count(target, MEAN)) if reduction == MEAN else value


TAPED.bce_of_target = _bce_of_target_taped


def _writes_of_target(self, target, weight, reduction) -> int:
    return 2 + (weight is not None) + (reduction == MEAN)


def _bce_of_target(F, grad, self, target, weight, reduction):
    return F.bce_of_target(grad, self, target, weight, reduction)


binary_cross_entropy.gradient(
    self=lambda F, grad, self, target, weight, reduction: F.binary_cross_entropy_backward(
        grad, self, target, weight, reduction
    ),
    target=written(_bce_of_target, OfArguments(_writes_of_target)),
)
binary_cross_entropy.forward(
    lambda F, self_t, self, target_t, target, weight, reduction: reduced_tangent(
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
    return F.div_scalar(value, count(self, MEAN)) if reduction == MEAN else value


def _weighted(F, value, self, weight, reduction):
    if weight is not None:
        value = value * weight
    return F.div_scalar(value, count(self, MEAN)) if reduction == MEAN else value


binary_cross_entropy_backward.layouts = lambda args: [(args[1]._raw.shape, args[1].stride())]
binary_cross_entropy_backward.gradient(
    grad_output=_bce_of_grad,
    self=_bce_curvature,
    target=written(
        _bce_mixed, OfArguments(lambda grad_output, *args: _writes_of_target(*args) - 1)
    ),
)


@operator(node="BinaryCrossEntropyWithLogitsBackward0", **SECOND)
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


def _writes_with_logits(self, target, weight, pos_weight, reduction) -> int:
    """How often ATen writes what is the gradient of either: with the weights, and for the mean."""
    return 2 * (pos_weight is not None) + (weight is not None) + (reduction == MEAN)


def _writes_of_logits(*args):
    # ATen differentiates what it records, which writes nothing but the mean.
    mean = int(args[-1] == MEAN)
    return lambda _, made: mean if isinstance(made, Tensor) else 2 + _writes_with_logits(*args)


binary_cross_entropy_with_logits.gradient(
    self=written(_bcel_of_logits, OfArguments(_writes_of_logits)),
    target=written(_bcel_of_target, OfArguments(_writes_with_logits)),
)


@formula_operation
def log_sigmoid(value):
    return np.minimum(value, 0) + np.log(np.maximum(expit(np.abs(value)), 0))


def _log_sigmoid(value):
    from impl.operators.activations import log_sigmoid_forward

    return log_sigmoid_forward(value)[0]


TAPED.log_sigmoid = _log_sigmoid
function("binary_cross_entropy_with_logits", method=False)(binary_cross_entropy_with_logits)
