"""Advanced indexing as operators: reading and writing at tensors of indices.

`indices` is a list with one entry per leading dimension: a tensor of integers, a mask (which
stands for as many dimensions as it has), or None for a whole dimension. As in NumPy the indexed
dimensions stay in place if they are next to each other and come first otherwise.
"""

from __future__ import annotations

import numpy as np

from impl.core import messages
from impl.core.dtypes import BY_NUMPY
from impl.core.meta_arrays import is_meta
from impl.core.registry import array_ops, tensor_ops
from impl.core.sizes import broadcast_shapes
from impl.core.tensor_lists import require_tensors
from impl.core.warning import warn_after_pass
from impl.dispatch.definition import (
    Array,
    counted,
    function,
    operator,
    outside_transforms,
    written,
)
from impl.dispatch.facts import MemoryOverlap, SavedAs
from impl.dispatch.record import check_write
from impl.kernels.casting import filled, storable
from impl.kernels.reduced_precision import add_each_at, sums_at
from impl.kernels.vectorized import largest, smallest
from impl.operators.indexing.index_layout import index_layout, indexed_shape
from impl.operators.indexing.masking import MASKED_FILL, require_mask
from impl.operators.indexing.out_of_range import set_at, stopped
from impl.tensor.allocation import preserved
from impl.tensor.memory_overlap import check_disjoint, check_memory
from impl.tensor.tensor import Tensor, new, requires_grad

INDEX_PUT = ("index_put_", "tensor[indices] = tensor")  # in the warning of an expanded tensor
_BYTES = "indexing with dtype torch.uint8 is now deprecated, please use a dtype torch.bool instead."
_INDEX_DTYPES = (np.int64, np.int32, np.bool_, np.uint8)


def expanded(shape, indices) -> list:
    """Indices as integer arrays or None: masks become the positions they select.

    Raises IndexError for a mask of another shape, too many indices, a dtype that cannot index, and
    an index into a dimension without elements.
    """
    if len(indices) > len(shape):
        raise IndexError(_too_many(shape, len(indices)))
    if any(i is not None and i.dtype not in _INDEX_DTYPES for i in indices):
        raise IndexError("tensors used as indices must be long, int, byte or bool tensors")
    result: list = []
    for index in indices:
        if index is None:
            result.append(None)
            continue
        if index.dtype == np.bool_ or index.dtype == np.uint8:
            if index.dtype == np.uint8:
                warn_after_pass(_BYTES)
            check_mask(shape, len(result), index.shape)
            if is_meta(index):
                raise NotImplementedError(messages.META_NONZERO)
            result += np.nonzero(index) if index.ndim else ()  # of no dimension there are none
        else:
            result.append(np.asarray(index, np.intp))
    if len(result) > len(shape):
        raise IndexError(_too_many(shape, len(result)))
    _check_broadcast(result)
    present = [i for i in result if i is not None]
    nothing = any(shape[d] == 0 for d, i in enumerate(result) if i is not None)
    if nothing and 0 not in broadcast_shapes(*(i.shape for i in present)):
        raise IndexError("index is out of bounds for dimension with size 0")
    return result


def _too_many(shape, count: int) -> str:
    return f"too many indices for tensor of dimension {len(shape)} (got {count})"


def in_range(shape, places) -> list:
    """Integer arrays or None that index an array of `shape`, none of them out of range.

    Raises IndexError for an index out of range, of a dimension that is counted among those that are
    indexed; where there is no element to be found, no index is looked at, as in torch.
    """
    empty = 0 in shape or any(i is not None and not i.size for i in places)
    if empty and 0 in indexed_shape(shape, places):
        common = broadcast_shapes(*(i.shape for i in places if i is not None))
        return [None if i is None else np.zeros(common, np.intp) for i in places]
    indexed = [(index, shape[dim]) for dim, index in enumerate(places) if index is not None]
    if not all(_is_within(index, size) for index, size in indexed):
        raise _outside(indexed)
    return places


def check_mask(shape, dim: int, mask) -> None:
    """Raise IndexError unless a mask of shape `mask` fits a tensor of `shape` from `dim` on."""
    for j, size in enumerate(mask):
        at = dim + j
        if at >= len(shape) or shape[at] != size:
            raise IndexError(
                f"The shape of the mask {list(mask)} at index {j} does not match the shape of the "
                f"indexed tensor {list(shape)} at index {at}"
            )


def _check_broadcast(indices) -> None:
    shapes = [i.shape for i in indices if i is not None]
    try:
        broadcast_shapes(*shapes)
    except RuntimeError:
        texts = ", ".join(str(list(s)) for s in shapes)
        raise IndexError(
            f"shape mismatch: indexing tensors could not be broadcast together with shapes {texts}"
        ) from None


def _is_within(index, size: int) -> bool:
    return not index.size or (smallest(index) >= -size and largest(index) < size)


def _outside(indexed) -> IndexError:
    """The error for the first element of which an index is out of range, and of its indices for
    the first; `indexed` are the indices, each with the size of its dimension."""
    arrays = np.broadcast_arrays(*(index for index, _ in indexed))
    wrong = [
        ((index < -size) | (index >= size)).reshape(-1)
        for index, (_, size) in zip(arrays, indexed, strict=True)
    ]
    place, dim = min((int(w.argmax()), dim) for dim, w in enumerate(wrong) if w.any())
    return IndexError(
        f"index {int(arrays[dim].reshape(-1)[place])} is out of bounds for dimension {dim} with "
        f"size {indexed[dim][1]}"
    )


def _key(indices) -> tuple:
    return tuple(slice(None) if i is None else i for i in indices)


@operator(function=False, method=False, node="IndexBackward0", fresh=True)
def index_(self: Array, indices: list[Array]) -> Array:
    places = expanded(self.shape, indices)
    _require_places(places, indices)
    places = in_range(self.shape, places)
    indexed = [dim for dim, place in enumerate(places) if place is not None]
    if len(indexed) == 1 and self.flags.c_contiguous:  # in a third of the time
        return np.asarray(self.take(places[indexed[0]], indexed[0]))
    return np.asarray(self[_key(places)], order="C")


index_.laid_out_as(index_layout)


def _require_places(places, indices) -> None:
    """Raise RuntimeError, as ATen's kernel does, where all indices are masks without dimensions."""
    present = [index for index in indices if index is not None]
    if present and all(place is None for place in places):
        file = "aten/src/ATen/native/cpu/IndexKernelUtils.h"
        raise RuntimeError(messages.internal_assert("ntensor >= 3", file, 8))


def _is_one_mask(indices) -> bool:
    present = [index for index in indices if index is not None]
    return len(present) == 1 and present[0].dtype in (np.bool_, np.uint8)


def _broadcasts(shape, target) -> bool:
    """Whether an array of `shape` broadcasts to the shape `target`."""
    return len(shape) <= len(target) and all(
        n in (1, m) for n, m in zip(reversed(shape), reversed(target), strict=False)
    )


def _put(self, indices, values, accumulate: bool):
    if not accumulate and values.size == 1 and _is_one_mask(indices):  # ATen calls masked_fill_
        if len(indices) > self.ndim:
            raise IndexError(_too_many(self.shape, len(indices)))
        dim, mask = next((d, index) for d, index in enumerate(indices) if index is not None)
        check_mask(self.shape, dim, mask.shape)
        require_mask(mask)
        values = storable(values.item(), self.dtype)
        if not mask.ndim:
            return np.full_like(preserved(self), values) if mask else preserved(self)
    places = expanded(self.shape, indices)
    _require_places(places, indices)
    target = indexed_shape(self.shape, places)
    if not _broadcasts(values.shape, target):
        raise RuntimeError(
            f"shape mismatch: value tensor of shape {list(values.shape)} cannot be broadcast to "
            f"indexing result of shape {list(target)}"
        )
    if values.dtype != self.dtype:
        raise RuntimeError(
            "Index put requires the source and destination dtypes match, got "
            f"{BY_NUMPY[self.dtype].legacy} for the destination and "
            f"{BY_NUMPY[values.dtype].legacy} for the source."
        )
    write = add_each_at if accumulate else set_at
    try:
        key = _key(in_range(self.shape, places))
    except IndexError as error:
        raise stopped(error, self, _key(places), values, write)  # noqa: B904
    if accumulate:  # NumPy's np.add.at takes the first of values that it would have to broadcast
        values = np.array(np.broadcast_to(values, target))
    return write(preserved(self), key, values)


@operator(
    function=False,
    method=False,
    node="IndexPutBackward0",
    fresh=True,
    saved_as=SavedAs(parts=()),
    numbers=False,
    memory=MemoryOverlap(within=True, operands="none"),
)
def index_put(self: Array, indices: list[Array], values: Array, accumulate=False) -> Array:
    return _put(self, indices, values, accumulate)


@operator(
    function=False,
    method=False,
    node="IndexPutImplBackward0",
    fresh=True,
    numbers=False,
    memory=MemoryOverlap(within=True, operands="none"),
)
def index_put_impl(self: Array, indices: list[Array], values: Array, accumulate=False) -> Array:
    return _put(self, indices, values, accumulate)


@index_put.composes
def _put_in_clone(self, indices, values, accumulate):
    return self.clone().index_put_(indices, values, accumulate)


index_.gradient(
    self=written(
        lambda F, grad, self_shape, indices: F.index_backward(grad, self_shape, indices),
        outside_transforms,
    )
)
index_.forward("linear")
for _op in (index_put, index_put_impl):
    _op.gradient(
        self=lambda F, grad, indices, values_shape, accumulate: (
            grad
            if accumulate
            else F.index_put(grad, indices, F.zeros(values_shape, F.dtype_of(grad)), False)
        ),
        values=lambda F, grad, indices: F.index(grad, indices),
    )
index_put.forward("reapplied")
index_put_impl.forward("reapplied")

array_ops.dtype_of = lambda value: value.dtype
tensor_ops.dtype_of = lambda value: value._raw.dtype
array_ops.index_backward = lambda grad, shape, indices: sums_at(
    shape, _key(in_range(shape, expanded(shape, indices))), grad
)
tensor_ops.index_backward = lambda grad, shape, indices: counted(
    index_put_impl(tensor_ops.new_zeros(grad, shape), indices, grad, True), outside_transforms()
)


def _indices(name: str, indices) -> list:
    if isinstance(indices, Tensor) or not isinstance(indices, (tuple, list)):
        raise TypeError(
            f"{name}(): argument 'indices' (position 1) must be tuple of Tensors, not "
            f"{type(indices).__name__}"
        )
    require_tensors(indices)
    return list(indices)


def check_first_mask(target: Tensor, indices: list) -> None:
    """Raise IndexError if the first index is a mask that does not fit: ATen looks whether it can
    call masked_fill_."""
    dim = next((i for i, index in enumerate(indices) if index is not None), 0)
    if indices[dim]._raw.dtype in (np.bool_, np.uint8):
        check_mask(target._raw.shape, dim, indices[dim]._raw.shape)


def put_at(target: Tensor, indices: list, values: Tensor, accumulate: bool = False) -> Tensor:
    """Write `values` at `indices` in place. Raises as every in-place operation does.

    One value at one mask may share memory with the target: it is read before.
    """
    if len(indices) > target._raw.ndim:
        raise IndexError(_too_many(target._raw.shape, len(indices)))
    check_write(target, requires_grad(values))
    present = [index for index in indices if index is not None]
    raws = [index._raw for index in present]
    if not accumulate and values._raw.size == 1:
        check_first_mask(target, indices)
        if _is_one_mask(raws):
            check_memory(target, present, INDEX_PUT)
            require_mask(raws[0])
            index_put.inplace(target, indices, values, accumulate)
            check_memory(target, (), MASKED_FILL)  # as masked_fill_, which ATen then calls
            return target
    check_memory(target, (), INDEX_PUT)
    for operand in (values, *present):
        check_disjoint(target, operand)
    return index_put.inplace(target, indices, values, accumulate)


@function("index_put_")
def index_put_inplace(input, indices, values, accumulate=False):
    """Write values at indices in place, or add them (torch.Tensor.index_put_).

    Raises IndexError for indices out of range, RuntimeError when shapes or dtypes do not fit.
    """
    return put_at(input, _indices("index_put_", indices), values, accumulate)


@function("index_put")
def index_put_copy(input, indices, values, accumulate=False):
    """A copy with values written at indices, or added (torch.index_put)."""
    return index_put(input, _indices("index_put", indices), values, accumulate)


def from_scalar(value, like: Tensor) -> Tensor:
    """A Python number as a 0-dim tensor in the dtype of `like`."""
    dtype = like._raw.dtype
    return new(filled((), value, dtype)[()])
