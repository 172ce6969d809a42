"""Binary cross entropy, of probabilities and of logits."""

from __future__ import annotations

import numpy as np

from impl.core.grad_mode import no_grad
from impl.core.messages import SUBTRACT_BOOL, SUBTRACT_BOOLS
from impl.core.registry import FUNCTIONS, array_ops, tensor_ops
from impl.core.sizes import broadcast_shapes
from impl.core.state import STATE
from impl.dispatch.definition import Array, formula_operation, operator, written
from impl.dispatch.facts import NoComplex
from impl.dispatch.gradient_plan import OfArguments
from impl.dispatch.not_implemented import require_floating, require_same_dtype
from impl.kernels.reduced_precision import rounded_once
from impl.operators.activations.activations import log_sigmoid_forward
from impl.operators.losses.losses import (
    MEAN,
    NONE,
    SECOND,
    count,
    found_dtype,
    reduced,
    reduced_tangent,
    share,
    writes_of,
)
from impl.operators.pointwise.arithmetic import div_scalar
from impl.operators.pointwise.special import expit
from impl.tensor.allocation import dense_strides
from impl.tensor.batched_tensor import writable
from impl.tensor.memory_overlap import check_shape, check_written
from impl.tensor.tensor import Tensor, new


@operator(
    **SECOND,
    autocast="fp32",
    complex=NoComplex("binary_cross_entropy"),
    writes=lambda args: writes_of(args) + (args[2] is not None),
)
def binary_cross_entropy(self: Array, target: Array, weight: Array | None, reduction) -> Array:
    loss = _cross_entropy(self, target)
    if weight is not None:
        check_written(self, weight)
    return reduced(loss if weight is None else loss * weight, reduction).astype(self.dtype)


@binary_cross_entropy.checked
def _check_probabilities(self, target, weight, reduction) -> None:
    if target.dtype != self.dtype:
        raise RuntimeError(found_dtype(target, self))
    require_floating(self, "binary_cross_entropy")


def _cross_entropy(self, target):
    inside, also = (self >= 0) & (self <= 1), (target >= 0) & (target <= 1)
    if not np.all(inside & also):
        first = np.argmin(inside & also)
        name = "target" if np.ravel(inside)[first] else "input"
        raise RuntimeError(f"all elements of {name} should be between 0 and 1")
    # Logarithms are clamped at -100, so that the loss of a certain but wrong prediction is finite.
    number = self.dtype.type
    low = number(-100)
    loss = (target - 1) * np.maximum(np.log1p(-self), low)
    return loss - target * np.maximum(np.log(self), low)


@operator(node="BinaryCrossEntropyBackwardBackward0", **SECOND)
def binary_cross_entropy_backward(
    grad_output: Array, self: Array, target: Array, weight: Array | None, reduction
) -> Array:
    require_same_dtype(self, grad_output.dtype)
    product = np.maximum((1 - self) * self, self.dtype.type(1e-12))
    value = grad_output * (self - target) / product
    if weight is not None:
        value = value * weight
    return value * share(self, reduction)


@formula_operation
def bce_of_target(grad, self, target, weight, reduction):
    """The gradient of the target; ATen computes its first step and writes the others in place."""
    value = -array_ops.logit(self) * grad
    if weight is not None:
        value = value * weight
    return array_ops.div_scalar(value, count(target, MEAN)) if reduction == MEAN else value


def _bce_of_target_taped(grad, self, target, weight, reduction):
    value = writable(tensor_ops.logit(self).neg_(), grad).mul_(grad)
    if weight is not None:
        value = writable(value, weight).mul_(weight)
    return div_scalar.inplace(value, count(target, MEAN)) if reduction == MEAN else value


tensor_ops.bce_of_target = _bce_of_target_taped


def _writes_of_target(self, target, weight, reduction) -> int:
    return 2 + (weight is not None) + (reduction == MEAN)


def _bce_of_target(F, grad, self, target, weight, reduction):
    return F.bce_of_target(grad, self, target, weight, reduction)


binary_cross_entropy.gradient(
    self="F.binary_cross_entropy_backward(grad, self, target, weight, reduction)",
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


# ATen keeps the denominators away from zero, differently in each formula.


@formula_operation
def away_from_zero(value):
    """The value clamped to at least 1e-12, with the derivative of the unclamped value."""
    return np.maximum(value, value.dtype.type(1e-12))


def _away_from_zero_taped(value):
    with no_grad():
        value.clamp_min_(1e-12)
    return value


tensor_ops.away_from_zero = _away_from_zero_taped


def _bce_sides(F, self):
    """self and 1 - self, each plus 1e-12."""
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


binary_cross_entropy_backward.laid_out_as(lambda args: [(args[1]._raw.shape, args[1].stride())])
binary_cross_entropy_backward.gradient(
    grad_output=_bce_of_grad,
    self=_bce_curvature,
    target=written(
        _bce_mixed, OfArguments(lambda grad_output, *args: _writes_of_target(*args) - 1)
    ),
)


@operator(
    node="BinaryCrossEntropyWithLogitsBackward0",
    **SECOND,
    autocast="fp32",
    complex=NoComplex("log_sigmoid_cpu"),
)
def binary_cross_entropy_with_logits(
    self: Array,
    target: Array,
    weight: Array | None = None,
    pos_weight: Array | None = None,
    reduction=NONE,
) -> Array:
    loss = _logits(self, target, pos_weight)
    return reduced(loss if weight is None else loss * weight, reduction).astype(target.dtype)


@binary_cross_entropy_with_logits.composes
def _of_logits(self, target, weight, pos_weight, reduction):
    smooth = log_sigmoid_forward(self)[0]
    if pos_weight is not None:
        smooth.mul_((pos_weight - 1).mul(target).add_(1))
    loss = FUNCTIONS["empty_like"](target).fill_(1).sub_(target).mul_(self).sub_(smooth)
    if weight is not None:
        loss.mul_(weight)
    return loss if reduction == NONE else loss.mean() if reduction == MEAN else loss.sum()


@binary_cross_entropy_with_logits.checked
def _check_logits(self, target, weight, pos_weight, reduction) -> None:
    require_floating(self, "log_sigmoid_cpu")
    # torch computes (1 - target) * self in place of 1 - target, and keeps the dtype and layout of
    # that.
    if target.dtype.kind == "b":
        raise NotImplementedError(SUBTRACT_BOOLS)
    if pos_weight is not None:
        if pos_weight.dtype.kind == "b":
            raise NotImplementedError(SUBTRACT_BOOL)
        shape = broadcast_shapes(target.shape, pos_weight.shape)
        check_shape(self.shape, broadcast_shapes(self.shape, shape))
    check_written(target, self)
    if weight is not None:
        check_written(target, weight)


binary_cross_entropy_with_logits.laid_out_as(lambda args: dense_strides(args[1]))


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
        value = (F.log_sigmoid(-self) - F.log_sigmoid(self) * pos_weight) * grad
    return _weighted(F, value, target, weight, reduction)


def _writes_with_logits(self, target, weight, pos_weight, reduction) -> int:
    """ATen's in-place writes to the gradient of either operand: for the weights, and for the
    mean."""
    return 2 * (pos_weight is not None) + (weight is not None) + (reduction == MEAN)


def _writes_of_logits(*args):
    # In a recorded backward ATen composes other operators, and writes in place only for the mean.
    mean, times = int(args[-1] == MEAN), 2 + _writes_with_logits(*args)
    return lambda _, made: mean if isinstance(made, Tensor) and STATE.enabled else times


binary_cross_entropy_with_logits.gradient(
    self=written(_bcel_of_logits, OfArguments(_writes_of_logits)),
    target=written(_bcel_of_target, OfArguments(_writes_with_logits)),
)


@formula_operation
def log_sigmoid(value):
    return np.minimum(value, 0) + np.log(np.maximum(expit(np.abs(value)), 0))


def _log_sigmoid(value):
    return log_sigmoid_forward(value)[0]


tensor_ops.log_sigmoid = _log_sigmoid


def logits_in_transforms(input, target, weight, pos_weight, reduction) -> Tensor:
    """The loss as torch composes it in the transforms of torch.func, with derivatives for all its
    arguments; where `input` is minus infinity they are NaN
    (ATen/functorch/PyTorchOperatorHacks.cpp)."""
    peak = (-input).clamp_min(0)
    smooth = ((-peak).exp() + (-input - peak).exp()).log()
    loss = tensor_ops.sub(new(np.array(1)), target) * input
    if pos_weight is None:
        loss = loss + peak + smooth
    else:
        heavier = tensor_ops.sub_scalar(pos_weight, 1) * target
        loss = loss + tensor_ops.add_scalar(heavier, 1) * (smooth + peak)
    if weight is not None:
        loss = loss * weight
    return loss if reduction == NONE else loss.mean() if reduction == MEAN else loss.sum()
