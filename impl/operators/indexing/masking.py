"""Masks: masked_fill, masked_select and masked_scatter."""

from __future__ import annotations

import numpy as np

from impl.core.dtypes import BY_NUMPY
from impl.core.memory_formats import contiguous_format
from impl.core.meta_functions import like_first
from impl.core.registry import array_ops, tensor_ops
from impl.core.sizes import broadcast_shapes, check_expansion
from impl.core.warning import warn
from impl.dispatch import vmap_rules
from impl.dispatch.definition import (
    Array,
    counted,
    formula_operation,
    function,
    operator,
    written,
)
from impl.dispatch.facts import MemoryOverlap
from impl.dispatch.not_implemented import not_on_meta
from impl.dispatch.record import check_write
from impl.kernels.casting import storable
from impl.operators.views.expansion import expand
from impl.tensor.batched_tensor import is_at
from impl.tensor.tensor import Tensor, requires_grad

# -- fill -------------------------------------------------------------------------------------

# The name and the example in the warning of an expanded tensor.
MASKED_FILL = ("masked_fill_", "tensor[mask] = scalar")


def require_mask(mask) -> None:
    """Raise RuntimeError for a mask that is not bool, as masked_fill_ does."""
    if mask.dtype != np.bool_:
        raise RuntimeError(
            "masked_fill_ only supports boolean masks, but got mask with dtype "
            f"{BY_NUMPY[mask.dtype].c_name}"
        )


def _filled(self, mask, value):
    """The elements, and a number or a 0-dim array where the mask is true."""
    require_mask(mask)
    value = storable(np.asarray(value)[()], self.dtype)
    shape = broadcast_shapes(mask.shape, self.shape)
    result = np.array(np.broadcast_to(self, shape), order="C")
    np.copyto(result, value, where=mask, casting="unsafe")
    return result


@operator(
    function=False,
    method=False,
    node="MaskedFillBackward0",
    numbers=False,
    memory=MemoryOverlap(within=MASKED_FILL, operands="second"),
    batching="pointwise",
)
def masked_fill_scalar(self: Array, mask: Array, value) -> Array:
    return _filled(self, mask, value)


@operator(
    function=False,
    method=False,
    node="MaskedFillBackward1",
    numbers=False,
    memory=MemoryOverlap(within=MASKED_FILL, operands="second"),
    batching="pointwise",
)
def masked_fill_tensor(self: Array, mask: Array, value: Array) -> Array:
    return _filled(self, mask, value)


@masked_fill_tensor.checked
def _check_value(self, mask, value) -> None:
    if value.ndim:
        raise RuntimeError(
            "masked_fill_ only supports a 0-dimensional value tensor, but got tensor with "
            f"{value.ndim} dimension(s)."
        )


@masked_fill_tensor.batches
def _batched_fill(args, level):
    """Where the value is batched, its examples are chosen element by element."""
    self, mask, value = args
    _check_value(self, mask, value._raw)
    if is_at(value, level):
        return tensor_ops.where(mask, value.to(self.dtype), self)
    made = vmap_rules.pointwise(masked_fill_tensor, args, level)
    return vmap_rules.hide(masked_fill_tensor.slow_path(*made), level)


for _op in (masked_fill_scalar, masked_fill_tensor):
    _op.gradient(self=lambda F, grad, mask: F.masked_fill(grad, mask, 0))
masked_fill_scalar.forward("reapplied", value=0)
masked_fill_tensor.forward("reapplied")
masked_fill_tensor.gradient(value=lambda F, grad, mask: F.sum_all(F.masked_select(grad, mask)))


def _masked_fill(call, self, mask, value):
    op = masked_fill_tensor if isinstance(value, Tensor) else masked_fill_scalar
    return call(op)(self, mask, value)


@masked_fill_scalar.composes
@masked_fill_tensor.composes
def _filled_clone(self, mask, value):
    op = masked_fill_tensor if isinstance(value, Tensor) else masked_fill_scalar
    return op.inplace(_row_major_clone(self, mask), mask, value)


def _row_major_clone(self, mask):
    """A clone in the common shape, for which ATen expands both unless their shapes are equal."""
    own, other = self._raw.shape, mask._raw.shape
    whole = self if own == other else expand(self, broadcast_shapes(other, own))
    return whole.clone(memory_format=contiguous_format)


@function("masked_fill")
def masked_fill(input, mask, value):
    """A copy with `value` (a number or 0-dim tensor) where the mask is true (torch.masked_fill).

    Raises RuntimeError for a mask that is not bool or does not broadcast.
    """
    broadcast_shapes(mask._raw.shape, input._raw.shape)
    return _masked_fill(lambda op: op, input, mask, value)


@function("masked_fill_", torch=False)
def masked_fill_(self, mask, value):
    """`masked_fill` in place (torch.Tensor.masked_fill_)."""
    if not (isinstance(value, Tensor) and value._raw.ndim):
        require_mask(mask._raw)
        broadcast_shapes(self._raw.shape, mask._raw.shape)
    return _masked_fill(lambda op: op.inplace, self, mask, value)


tensor_ops.masked_fill = masked_fill
array_ops.masked_fill = lambda value, mask, fill: _filled(
    value, np.asarray(mask), np.asarray(fill).astype(value.dtype)
)

# -- select -----------------------------------------------------------------------------------

_BATCHED_MASK = (
    "vmap: Attempted to vmap over `mask` in torch.masked_select(self, mask) We cannot support this "
    "because for each batch this would return a differently shaped Tensor. Please file an issue at "
    "https://github.com/pytorch/pytorch/issues if you need this feature."
)
_MASK = "masked_select: expected BoolTensor for mask"


@operator(out=True, numbers=False, memory=MemoryOverlap(disjoint=True, operands="all"))
def masked_select(self: Array, mask: Array) -> Array:
    """The elements where the mask is true, in one dimension (torch.masked_select).

    Tensor and mask broadcast. Raises RuntimeError for a mask that is not bool.
    """
    if mask.dtype != np.bool_:
        raise RuntimeError(_MASK)
    shape = broadcast_shapes(mask.shape, self.shape)
    return np.broadcast_to(self, shape)[np.broadcast_to(mask, shape)]


masked_select.on_meta(not_on_meta("masked_select"))


@formula_operation
def masked_select_backward(grad, self, mask):
    shape = broadcast_shapes(mask.shape, self.shape)
    _check_source(self, grad)
    _check_mask(mask)
    result = array_ops.zeros_like(np.broadcast_to(self, shape))
    result[np.broadcast_to(mask, shape)] = grad
    return result


def _masked_select_backward(grad, self, mask):
    zeros = tensor_ops.zeros_like(tensor_ops.expand(self, broadcast_shapes(mask.shape, self.shape)))
    return counted(masked_scatter(zeros, mask, grad))


tensor_ops.masked_select_backward = _masked_select_backward


@masked_select.batches
def _select_of_batch(args, level):
    if is_at(args[1], level):
        raise RuntimeError(_BATCHED_MASK)
    value = vmap_rules.padded(args[0], max(args[0]._raw.ndim, args[1]._raw.ndim), level)
    return vmap_rules.hide(masked_select(value, args[1]).view(level.size, -1), level)


masked_select.gradient(
    self=written(lambda F, grad, self, mask: F.masked_select_backward(grad, self, mask))
)
masked_select.forward("linear")


def _same_dtype(out, self, mask) -> None:
    if mask.dtype.kind != "b" and mask.dtype != np.uint8:
        raise RuntimeError(_MASK)
    if out != self.dtype:
        raise RuntimeError("masked_select(): self and result must have the same scalar type")


masked_select.checks_out(_same_dtype, first=True)


# -- scatter ----------------------------------------------------------------------------------


def _scattered(self, mask, source):
    shape = broadcast_shapes(mask.shape, self.shape)
    result = np.array(np.broadcast_to(self, shape), order="C")
    wide = np.broadcast_to(mask, shape)
    count = int(np.count_nonzero(wide))
    if count > source.size:
        raise RuntimeError("Number of elements of source < number of ones in mask")
    result[wide] = np.reshape(source, -1)[:count]
    return result


def _check_source(self, source) -> None:
    if self.dtype != source.dtype:
        raise RuntimeError(
            "masked_scatter: expected self and source to have same dtypes but got"
            f"{BY_NUMPY[self.dtype].legacy} and {BY_NUMPY[source.dtype].legacy}"
        )


@operator(numbers=False, memory=MemoryOverlap(operands="none"), batching="fallback")
def masked_scatter(self: Array, mask: Array, source: Array) -> Array:
    """A copy with the elements of `source`, in order, where the mask is true.

    Raises RuntimeError when the source has too few, for another dtype, and for a mask that is not
    bool (torch.masked_scatter).
    """
    broadcast_shapes(mask.shape, self.shape)
    _check_source(self, source)
    _check_mask(mask)
    return _scattered(self, mask, source)


def _check_mask(mask) -> None:
    if mask.dtype == np.uint8:
        warn(
            "masked_scatter_ received a mask with dtype torch.uint8, this behavior is now "
            "deprecated,please use a mask with dtype torch.bool instead.",
        )
    if mask.dtype != np.bool_:
        raise RuntimeError(
            "masked_scatter_ only supports boolean masks, but got mask with dtype "
            f"{BY_NUMPY[mask.dtype].legacy}"
        )


@masked_scatter.on_shared_memory
def _one_by_one(out, self, mask, source):
    values = iter(source.reshape(-1))
    for place in np.ndindex(out.shape):
        if np.broadcast_to(mask, out.shape)[place]:  # one that has been written, perhaps
            out[place] = next(values)
    return out.copy()


@function("masked_scatter_", torch=False)
def masked_scatter_(self, mask, source):
    """`masked_scatter` in place (torch.Tensor.masked_scatter_).

    Raises RuntimeError for a mask that does not expand to the tensor's shape.
    """
    if isinstance(mask, Tensor) and isinstance(source, Tensor):
        check_write(self, requires_grad(source))
        _check_source(self._raw, source._raw)
        check_expansion(mask._raw.shape, mask.dtype, self._raw.shape)
    return masked_scatter.inplace(self, mask, source)


@operator(function=False, method=False, node="MaskedScatterBackwardBackward0", numbers=False)
def masked_scatter_backward(grad_output: Array, mask: Array, sizes) -> Array:
    """The gradient of the source: the gradients at the true positions in order, zeros for unused
    elements."""
    taken = masked_select.kernel(grad_output, mask)
    count = int(np.prod(sizes))
    result = np.zeros(sizes, grad_output.dtype)
    result.reshape(-1)[: taken.size] = taken[:count]
    return result


masked_scatter.gradient(
    self=lambda F, grad, mask: F.masked_fill(grad, mask, 0),
    source=lambda F, grad, mask, source_shape: F.masked_scatter_backward(grad, mask, source_shape),
)
masked_scatter.forward("reapplied")


@masked_scatter.composes
def _scattered_clone(self, mask, source):
    return _row_major_clone(self, mask).masked_scatter_(mask, source)


masked_scatter_backward.gradient(
    grad_output=lambda F, grad, grad_output_shape, mask: F.masked_scatter(
        F.new_zeros(grad, grad_output_shape), mask, grad
    )
)


for _op in (masked_fill_scalar, masked_fill_tensor):
    _op.on_large_meta(like_first)
