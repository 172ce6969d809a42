"""Negative log-likelihood.

The weighted mean divides by the sum of the targets' weights; ignored targets are left out of both
sums (torch.nn.functional.nll_loss). For images torch has an operator of its own.
"""

from __future__ import annotations

import math

import numpy as np

from impl.core.dims import require_dims
from impl.core.dtypes import BY_NUMPY, FLOATING, REDUCED, WIDE
from impl.core.registry import tensor_ops
from impl.core.strides import element_strides
from impl.core.tensor_iterator import elementwise_strides
from impl.dispatch.definition import Array, native, operator
from impl.dispatch.not_implemented import not_implemented, refuse_gradient, require_scalar_type
from impl.kernels.reduced_precision import accumulate_dtype
from impl.kernels.vectorized import MODERATE, largest, ones, starts
from impl.operators.losses.losses import MEAN, NONE
from impl.tensor.tensor import Tensor

CLASSES = np.dtype(np.int64)
_TARGETS = (CLASSES, np.dtype(np.uint8))
# -- the operators ----------------------------------------------------------------------------


def _rows(raw, items: int, classes: int):
    """The input as (items, classes), from (C,), (N, C) or (N, C, H, W)."""
    return np.moveaxis(raw, 1, -1).reshape(items, classes) if raw.ndim > 1 else raw[None, :]


def _picked(self, target, weight, ignore_index: int):
    """The number of classes, each item's class, the mask of items that are not ignored, and
    weights."""
    classes = self.shape[1] if self.ndim > 1 else self.shape[0]
    chosen = np.asarray(target).reshape(-1).astype(np.int64)
    counted = chosen != ignore_index
    outside = chosen[counted & ((chosen < 0) | (chosen >= classes))]
    if outside.size:
        raise IndexError(f"Target {outside[0]} is out of bounds.")
    safe = np.where(counted, chosen, 0)
    weights = np.ones(classes, self.dtype) if weight is None else weight.reshape(-1)
    weights = np.where(counted, weights[safe], 0) if classes else np.zeros(chosen.size, self.dtype)
    return classes, safe, counted, weights


def are_plain(self, target, weight, ignore_index: int) -> bool:
    """Whether the fast path applies: a class per row, no weights, none ignored, no reduced
    precision."""
    if weight is not None or self.ndim != 2 or target.ndim != 1 or not self.size:
        return False
    if self.dtype not in WIDE or target.dtype != CLASSES:
        return False
    # Negative numbers are huge as unsigned ones.
    if largest(target.view(np.uint64)) >= self.shape[1]:
        return False
    return not (0 <= ignore_index < self.shape[1] and (target == ignore_index).any())


def of_plain(self, target, reduction: int):
    """The loss, or the losses, of rows for which `are_plain` is true, and their total weight."""
    picked = self.take(starts(*self.shape) + target)
    if reduction == NONE:
        return -picked, self.dtype.type(0)
    few = picked.size <= MODERATE
    total = -(picked.dot(ones(picked.shape, self.dtype)) if few else np.add.reduce(picked))
    count = self.dtype.type(picked.size)
    return (total / count if reduction == MEAN else total), count


def _nll_forward(self, target, weight, reduction: int, ignore_index: int, frame: str):
    if are_plain(self, target, weight, ignore_index):
        return of_plain(self, target, reduction)
    if BY_NUMPY[self.dtype].category != FLOATING:
        raise not_implemented(frame, BY_NUMPY[self.dtype])
    classes, chosen, counted, weights = _picked(self, target, weight, ignore_index)
    kind = self.dtype
    if classes:
        picked = _rows(self, chosen.size, classes)[np.arange(chosen.size), chosen]
    else:  # all of them are ignored
        picked = np.zeros(chosen.size, kind)
    wide = accumulate_dtype(kind)
    losses = np.where(counted, -(picked.astype(wide) * weights.astype(wide)), wide.type(0))
    if reduction == NONE and self.ndim > 1:
        return losses.astype(kind).reshape(np.shape(target)), kind.type(0)
    if kind in REDUCED:
        result = _cascaded(losses.astype(kind), counted)
        total = kind.type(counted.sum()) if weight is None else _cascaded(weights, counted)
    else:
        result, total = losses.sum(dtype=kind), weights.sum(dtype=kind)
    if reduction == MEAN:
        result = result / total
    return result, total


_LEVELS = 8


def _cascaded(values, counted):
    """The sum of the counted values in half precision or bfloat16, rounded after each addition.

    Partial sums are kept on eight levels, so that few numbers are added to each: the first is
    handed on after the items whose number is a multiple of 16, and so on with multiples of its
    powers (LossNLL.cpp of ATen). An item that is ignored hands nothing on.
    """
    bits = max(4, math.ceil(math.log2(max(counted.size, 1))) // _LEVELS)
    numbers = np.flatnonzero(counted)
    values = values[numbers]
    total = values.dtype.type(0)
    for level in range(_LEVELS):
        ends = numbers >> level * bits & (1 << bits) - 1 == 0
        if level == _LEVELS - 1:
            ends[:] = False
        sums = _segment_sums(values, ends)
        total = total + sums[-1]
        values, numbers = sums[:-1], numbers[ends]
    return total


def _segment_sums(values, ends):
    """The sums of the runs that end where `ends` is true, and of the rest behind the last of them;
    each is taken from its first value on."""
    run = np.cumsum(ends) - ends
    first = np.searchsorted(run, np.arange(run[-1] + ends[-1] + 1 if run.size else 1))
    place = np.arange(run.size) - first[run]
    sums = np.zeros(first.size, values.dtype)
    for column in range(place.max(initial=-1) + 1):
        chosen = place == column
        sums[run[chosen]] += values[chosen]
    return sums


def _nll_backward(grad, self, target, weight, reduction, ignore_index, total_weight):
    if self.ndim == 1 and np.ndim(target) and len(self) != len(target):
        # torch accepts a vector with one target in the forward pass, but not in backward.
        raise RuntimeError(
            f"size mismatch (got input: {[*self.shape]}, target: {[*np.shape(target)]})"
        )
    if self.ndim == 4:
        _check_target(target.dtype)
    elif target.dtype not in _TARGETS:
        require_scalar_type(target, CLASSES)
    if self.ndim == 4 and _keeps_other_layout(self):
        raise RuntimeError("grad_input must be contiguous")
    # If all targets were counted, the forward pass has checked their range.
    whole = weight is None and total_weight == target.size and self.ndim == 2
    if (whole and self.dtype in WIDE) or are_plain(self, target, weight, ignore_index):
        result = np.zeros(self.shape, self.dtype)
        share = grad / total_weight if reduction == MEAN else grad
        result.put(starts(*self.shape) + target, -share)
        return result
    classes, chosen, counted, weights = _picked(self, target, weight, ignore_index)
    if not self.size:
        return np.zeros(self.shape, self.dtype)
    flat = np.zeros((chosen.size, classes), self.dtype)
    share = np.asarray(grad).reshape(-1)
    if reduction == MEAN:
        share = share / total_weight
    share = -weights.astype(self.dtype) * share
    flat[np.arange(chosen.size), chosen] = np.where(counted, share, self.dtype.type(0))
    if self.ndim == 1:
        return flat[0]
    shape = (self.shape[0], *self.shape[2:], classes)
    return np.ascontiguousarray(np.moveaxis(flat.reshape(shape), -1, 1))


def _keeps_other_layout(array) -> bool:
    """Whether the gradient, zeros like this array, would not be row-major."""
    if array.flags.c_contiguous:
        return False
    return elementwise_strides(array.shape, [(array.shape, element_strides(array))]) is not None


def _nll_operators(name: str, node: str, frame: str):
    """The operators of one rank: the loss with its total weight, and the loss's backward."""

    def forward(self: Array, target: Array, weight: Array | None, reduction, ignore_index) -> Array:
        return _nll_forward(self, target, weight, reduction, ignore_index, frame)

    def backward(
        grad_output: Array,
        self: Array,
        target: Array,
        weight: Array | None,
        reduction,
        ignore_index,
        total_weight: Array,
    ) -> Array:
        return _nll_backward(
            grad_output, self, target, weight, reduction, ignore_index, total_weight
        )

    forward.__name__ = name + "_forward"
    backward.__name__ = name + "_backward"
    apply = operator(
        node=node + "0",
        outputs=("output", "total_weight"),
        function=False,
        method=False,
        autocast="fp32",
    )(forward)
    apply_backward = operator(node=node + "Backward0", function=False, method=False)(backward)
    apply.differentiable("output").gradient(
        self=f"F.{name}_backward(grad, self, target, weight, reduction, ignore_index, total_weight)"
    )
    apply.forward(
        output=lambda F, self_t, target, weight, reduction, ignore_index: apply(
            self_t, target, weight, reduction, ignore_index
        )[0]
    )
    apply_backward.gradient(
        grad_output=lambda F, grad, target, weight, reduction, ignore_index: getattr(
            F, name + "_forward"
        )(grad, target, weight, reduction, ignore_index)[0],
        self=lambda F, grad: F.zeros_like(grad),
    )
    return apply


nll_loss_forward = _nll_operators("nll_loss", "NllLossBackward", "nll_loss_out_frame")
nll_loss2d_forward = _nll_operators(
    "nll_loss2d", "NllLoss2DBackward", "nll_loss2d_forward_out_frame"
)


# -- how torch checks and spells them ---------------------------------------------------------


def _check_target(kind: np.dtype) -> None:
    if kind not in _TARGETS:
        raise RuntimeError(
            f"expected target dtype to be Long or Byte, but got {BY_NUMPY[kind].legacy}"
        )


def _check_weight_dtype(input, weight) -> None:
    if weight is None or input.dtype.category != FLOATING:  # which the kernel refuses
        return
    if weight.dtype is not input.dtype:
        raise RuntimeError(
            f"expected scalar type {input.dtype.legacy} but found {weight.dtype.legacy}"
        )


def _nll_rows(input, target, weight, reduction, ignore_index):
    refuse_gradient("nll_loss_forward", "weight", weight, (input, target, weight))
    shape, goal = input._raw.shape, target._raw.shape
    if len(goal) > 1:
        raise RuntimeError("0D or 1D target tensor expected, multi-target not supported")
    _check_target(target._raw.dtype)
    if len(shape) == 2:
        require_dims(0, len(goal))
    if len(shape) == 1 and len(goal) == 1 and goal[0] != 1:
        raise ValueError(
            f"For 1D input, 1D target must have size 1, but got target size: {goal[0]}"
        )
    if weight is not None and weight._raw.shape != shape[-1:]:
        raise RuntimeError(
            f"weight tensor should be defined either for all {shape[-1]} classes or no classes "
            f"but got weight tensor of shape: {[*weight._raw.shape]}"
        )
    _check_weight_dtype(input, weight)
    return nll_loss_forward(input, target, weight, reduction, ignore_index)[0]


def _nll_images(input, target, weight, reduction, ignore_index):
    refuse_gradient("nll_loss2d_forward", "weight", weight, (input, target, weight))
    shape, goal = input._raw.shape, target._raw.shape
    if len(goal) != 3:
        raise RuntimeError(
            "only batches of spatial targets supported (3D tensors) but got targets of dimension: "
            f"{len(goal)}"
        )
    _check_target(target._raw.dtype)
    if (shape[0], *shape[2:]) != goal:
        raise RuntimeError(f"size mismatch (got input: {[*shape]} , target: {[*goal]}")
    if weight is not None and weight._raw.size != shape[1]:
        raise RuntimeError("weight tensor should be defined either for all or no classes")
    if target.dtype.name == "uint8":
        raise RuntimeError("expected scalar type Long but found Byte")
    _check_weight_dtype(input, weight)
    return nll_loss2d_forward(input, target, weight, reduction, ignore_index)[0]


@native()
def nll_loss_nd(input: Tensor, target: Tensor, weight, reduction: int, ignore_index: int) -> Tensor:
    """Minus the log-probability of each target class, by the rank of the input."""
    shape, goal = input._raw.shape, target._raw.shape
    if not shape:
        raise ValueError("Expected 1 or more dimensions (got 0)")
    batch = goal[0] if goal else 0
    if len(shape) != 1 and shape[0] != batch:
        raise ValueError(
            f"Expected input batch_size ({shape[0]}) to match target batch_size ({batch})."
        )
    if len(shape) <= 2:
        return _nll_rows(input, target, weight, reduction, ignore_index)
    if len(shape) == 4:
        return _nll_images(input, target, weight, reduction, ignore_index)
    items = (shape[0], *shape[2:])
    if goal[1:] != shape[2:]:
        raise RuntimeError(f"Expected target size {[*items]}, got {[*goal]}")
    input, target = input.contiguous(), target.contiguous()
    size = (1, math.prod(shape[2:]))
    result = _nll_images(
        tensor_ops.view(input, (*shape[:2], *(size if input._raw.size else (0, 0)))),
        tensor_ops.view(target, (shape[0], *(size if target._raw.size else (0, 0)))),
        weight,
        reduction,
        ignore_index,
    )
    return tensor_ops.view(result, items) if reduction == NONE else result
