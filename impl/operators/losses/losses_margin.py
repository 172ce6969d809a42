"""Losses that ask for a margin between the scores of right and wrong classes.

The formulas are those of torch.nn.functional's documentation; the ones whose second derivative
torch does not have refuse it in its words.
"""

from __future__ import annotations

import numpy as np

from impl.core.dtypes import BY_NUMPY, FLOATING, get_default_dtype
from impl.core.inference_mode import refuses
from impl.core.messages import NEGATE_BOOL
from impl.core.registry import array_ops
from impl.dispatch.definition import Array, operator
from impl.dispatch.facts import NoComplex
from impl.dispatch.not_implemented import (
    no_derivative,
    refuse_complex,
    require_full_precision,
    require_scalar_type,
)
from impl.kernels.casting import check_numbers, storable
from impl.operators.losses.losses import MEAN, NONE, of_mean, reduced
from impl.tensor.memory_overlap import check_cast, check_written

# -- the logistic margin -----------------------------------------------------------------------


@operator(
    writes=1,
    function=False,
    method=False,
    numbers=False,
    elementwise=True,
    autocast="fp32",
    reduces=True,
    batching="fallback",
)
def soft_margin_loss(self: Array, target: Array, reduction) -> Array:
    """log(1 + exp(-target * self)), rounded at each step; it overflows as torch's does."""
    if self.dtype.kind == "b":
        raise NotImplementedError(NEGATE_BOOL)
    check_written(self, target)
    if BY_NUMPY[self.dtype].category < FLOATING:
        check_cast(get_default_dtype().numpy, self.dtype)
    return reduced(_softened(self, target.astype(self.dtype, copy=False)), reduction)


def _softened(self, target):
    with np.errstate(over="ignore"):
        return np.log1p(np.exp(-self * target))


@operator(
    node="SoftMarginLossBackwardBackward0",
    function=False,
    method=False,
    numbers=False,
    elementwise=True,
    batching="fallback",
)
def soft_margin_loss_backward(grad_output: Array, self: Array, target: Array, reduction) -> Array:
    """The gradient of a soft margin loss, of the input's shape and dtype."""
    if target.dtype == np.bool_:
        raise NotImplementedError(NEGATE_BOOL)
    share = -1.0 / self.size if reduction == MEAN and self.size else -1.0
    return _soft_slope(grad_output, self, target.astype(self.dtype, copy=False), share)


def _soft_slope(grad_output, self, target, share):
    with np.errstate(over="ignore", invalid="ignore"):
        power = np.exp(-target * self)
        slope = array_ops.mul_scalar(target * power, share)
        return slope / (power + self.dtype.type(1)) * grad_output


# ATen multiplies the target by a power of it and the input, in this order.
soft_margin_loss_backward.laid_out_as(
    lambda args: [(t._raw.shape, t.stride()) for t in (args[2], args[1])]
)
soft_margin_loss.composes(refuses("soft_margin_loss"))
soft_margin_loss.gradient(self="F.soft_margin_loss_backward(grad, self, target, reduction)")
soft_margin_loss.forward(
    lambda F, self_t, self, target, reduction: F.reduced_gradient(
        F.soft_margin_loss_backward(self_t, self, target, NONE), self, reduction
    )
)


def _soft_of_cotangent(F, grad, grad_output, self, target, reduction):
    if reduction == NONE:
        return F.soft_margin_loss_backward(grad, self, target, reduction)
    ones = F.ones_like(grad_output)
    return F.sum_all(F.soft_margin_loss_backward(ones, self, target, reduction) * grad)


def _soft_curvature(F, grad, grad_output, self, target, reduction):
    value = grad * grad_output
    power = F.exp(self * -target)
    above = F.add_scalar(power, 1)
    bent = value * (target * target) * power / (above * above)
    return F.div_scalar(bent, F.numel(self)) if reduction == MEAN else bent


soft_margin_loss_backward.forward("unsupported", name="soft_margin_loss_backward", invited=True)
soft_margin_loss_backward.gradient(
    grad_output=_soft_of_cotangent,
    self=of_mean(_soft_curvature),
)


# -- one right class ---------------------------------------------------------------------------


def _rows(self):
    return self.reshape(1, -1) if self.ndim < 2 else self


def _scaled(slope, grad_output, shape):
    """The slope of each row times the gradient of the row's loss, as memory of its own."""
    gradient = np.empty(shape, slope.dtype)
    np.multiply(slope, grad_output.reshape(-1, 1), out=_rows(gradient))
    return gradient


def _check_scores(self) -> None:
    """Raise RuntimeError unless the scores are (N, C), (C,) or a number, with classes."""
    if self.ndim < 3 and (self.ndim == 0 or self.shape[-1]):
        return
    raise RuntimeError(
        "Expected non-empty vector or matrix with optional 0-dim batch size, but got: "
        f"{list(self.shape)}"
    )


def _excess(self, target, margin):
    """By how much each score comes too near to that of the right class, which itself does not."""
    rows, places = _rows(self), np.arange(target.size)
    excess = rows - rows[places, target][:, None] + rows.dtype.type(margin)
    excess[places, target] = 0
    return np.where(excess > 0, excess, 0), places


def _of_nothing(self, target, reduction):
    """The loss of no scores, of which torch looks at no dtype and whose sum it leaves unset."""
    return np.zeros(target.shape if reduction == NONE else (), self.dtype)


def _check_target(self, target, weight) -> None:
    _check_scores(self)
    rows = _rows(self)
    if target.ndim > 1 or target.size != rows.shape[0]:
        raise RuntimeError(
            "multi_margin_loss: target tensor should be 1-D with size equal to the number of input "
            f"samples (batch size). Expected target size [{rows.shape[0]}], but got "
            f"{list(target.shape)}. Input has shape {list(self.shape)}."
        )
    if weight is not None and weight.size != rows.shape[1]:
        raise RuntimeError(
            f"inconsistent weight size, expected {rows.shape[1]} but got {list(weight.shape)}"
        )


def _right_ones(self, target, weight):
    require_full_precision(self, "multi_margin_loss_cpu_kernel")
    require_scalar_type(target, np.dtype(np.int64))
    if weight is not None:
        require_scalar_type(weight, self.dtype)
    if ((target < 0) | (target >= _rows(self).shape[1])).any():
        raise RuntimeError("target out of range")
    return target.reshape(-1)


@operator(
    function=False,
    method=False,
    numbers=False,
    autocast="fp32",
    complex=NoComplex(derivative="multi_margin_loss"),
    batching="fallback",
)
def multi_margin_loss(
    self: Array, target: Array, p, margin, weight: Array | None, reduction
) -> Array:
    """For each row the mean over the wrong classes of max(0, margin - right + wrong) ** p."""
    _check_target(self, target, weight)
    if not self.size:
        return _of_nothing(self, target, reduction)
    right = _right_ones(self, target, weight)
    check_numbers(self.dtype, margin)
    excess, _ = _excess(self, right, margin)
    losses = (excess if p == 1 else excess * excess).sum(1)
    if weight is not None:
        losses = losses * weight[right]
    losses = losses / losses.dtype.type(excess.shape[1])
    return reduced(losses.reshape(target.shape), reduction)


@operator(node="NotImplemented", function=False, method=False, numbers=False)
def multi_margin_loss_backward(
    grad_output: Array, self: Array, target: Array, p, margin, weight: Array | None, reduction
) -> Array:
    """The gradient of a multi-class margin loss, of the input's shape and dtype."""
    _check_target(self, target, weight)
    if not self.size:
        return np.empty(self.shape, self.dtype)
    target = _right_ones(self, target, weight)
    excess, places = _excess(self, target, margin)
    slope = (excess > 0).astype(excess.dtype) if p == 1 else 2 * excess
    if weight is not None:
        slope = slope * weight[target][:, None]
    slope[places, target] = -slope.sum(1)
    averaged = excess.shape[0] if reduction == MEAN else 1
    slope = slope / slope.dtype.type(excess.shape[1] * averaged)
    return _scaled(slope, grad_output, self.shape)


multi_margin_loss.gradient(
    self="F.multi_margin_loss_backward(grad, self, target, p, margin, weight, reduction)"
)
multi_margin_loss.forward("unsupported", name="multi_margin_loss", invited=True)
multi_margin_loss_backward.gradients("grad_output", "self", "weight")(
    no_derivative("multi_margin_loss_backward")
)


# -- several right classes ---------------------------------------------------------------------


def _right_classes(self, target):
    """Which classes of each row stand in its target, which ends at its first negative number."""
    rows, named = _rows(self), _rows(target)
    listed = np.logical_and.accumulate(named >= 0, axis=1)
    right = np.zeros(rows.shape, bool)
    row, place = np.nonzero(listed)
    right[row, named[row, place]] = True
    return listed, right


def _check_listed(self, target, argument: int) -> None:
    """Raise RuntimeError for a target of another shape, or with classes out of range."""
    _check_scores(self)
    vectors = self.ndim < 2 and target.ndim < 2 and self.size == target.size
    if self.shape != target.shape and not vectors:
        raise RuntimeError(
            f"inconsistent target size: {list(target.shape)} for input of size: {list(self.shape)}"
        )
    if target.size:
        refuse_complex(target, "min_all")
        ends = [storable(end, np.dtype(np.int64)) for end in (target.min(), target.max())]
    if target.size and (ends[0] < -1 or ends[1] >= _rows(self).shape[1]):
        raise RuntimeError(f"argument #{argument} 'target' is out of range")


def _shortfall(self, target, listed, right):
    """1 - right + wrong for each listed and each wrong class, zero for the others."""
    rows, named = _rows(self), _rows(target)
    scores = np.take_along_axis(rows, np.where(listed, named, 0), 1)
    short = 1 - scores[:, :, None] + rows[:, None, :]
    return np.where(listed[:, :, None] & ~right[:, None, :] & (short > 0), short, 0)


@operator(
    node="MultilabelMarginLossBackward0",
    outputs=("output", "is_target"),
    function=False,
    method=False,
    numbers=False,
    autocast="fp32",
    complex=NoComplex(derivative="multilabel_margin_loss_forward"),
    torch_name="multilabel_margin_loss",
)
def multilabel_margin_loss_forward(self: Array, target: Array, reduction) -> tuple:
    """The mean of max(0, 1 - right + wrong) over pairs of classes, and which ones are right."""
    _check_listed(self, target, 2)
    if not self.size:
        return _of_nothing(self, target[..., 0], reduction), np.empty(target.shape, self.dtype)
    require_full_precision(self, "multilabel_margin_loss_forward_out_frame")
    require_scalar_type(target, np.dtype(np.int64))
    listed, right = _right_classes(self, target)
    short = _shortfall(self, target, listed, right)
    losses = short.sum((1, 2)) / short.dtype.type(max(short.shape[2], 1))
    is_target = right.reshape(target.shape).astype(self.dtype)
    return reduced(losses if self.ndim > 1 else losses[0], reduction), is_target


@operator(node="NotImplemented", function=False, method=False, numbers=False)
def multilabel_margin_loss_backward(
    grad_output: Array, self: Array, target: Array, reduction, is_target: Array
) -> Array:
    """The gradient of a multi-label margin loss, of the input's shape and dtype."""
    _check_listed(self, target, 3)
    if not self.size:
        return np.empty(self.shape, self.dtype)
    require_scalar_type(target, np.dtype(np.int64))
    require_scalar_type(is_target, self.dtype)
    if not (is_target.min() >= 0 and is_target.max() <= 1):
        raise RuntimeError("argument #5 'is_target' is out of range")
    listed, _ = _right_classes(self, target)
    short = _shortfall(self, target, listed, _rows(is_target) != 0)
    near = (short > 0).astype(short.dtype)
    slope = near.sum(1)
    row, place = np.nonzero(near.any(2))
    np.add.at(slope, (row, _rows(target)[row, place]), -near.sum(2)[row, place])
    averaged = short.shape[0] if reduction == MEAN else 1
    slope = slope / slope.dtype.type(max(short.shape[2] * averaged, 1))
    return _scaled(slope, grad_output, self.shape)


multilabel_margin_loss_forward.differentiable("output").gradient(
    self="F.multilabel_margin_loss_backward(grad, self, target, reduction, is_target)"
)
multilabel_margin_loss_forward.forward(
    "unsupported", name="multilabel_margin_loss_forward", invited=True
)
multilabel_margin_loss_backward.gradients("grad_output", "self")(
    no_derivative("multilabel_margin_loss_backward")
)
