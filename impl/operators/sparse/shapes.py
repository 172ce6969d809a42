"""The kernels for sparse tensors of operators that join, select and give dimensions."""

from __future__ import annotations

import numpy as np

from impl.core import messages
from impl.core.dims import wrap_dim, wrap_dims
from impl.core.dtypes import result_dtype
from impl.core.sparse_array import SparseArray
from impl.dispatch.sparse_operator import is_sparse
from impl.operators.copies.cat_stack import cat, stack
from impl.operators.indexing.gathering import index_select
from impl.operators.reductions.reductions import sum_dim, summable
from impl.operators.sparse.reductions import sum_over
from impl.operators.views.shape import unsqueeze
from impl.operators.views.slicing import check_select, select
from impl.operators.views.view_copies import narrow_copy


@unsqueeze.sparse
def _unsqueeze(self: SparseArray, dim) -> SparseArray:
    dim = wrap_dim(dim, self.ndim + 1)
    shape = (*self.shape[:dim], 1, *self.shape[dim:])
    if dim > self.sparse_dim:
        values = np.expand_dims(self.values, dim - self.sparse_dim + 1)
        return SparseArray(self.indices, values, shape)
    return SparseArray(np.insert(self.indices, dim, 0, 0), self.values, shape)


@cat.sparse
def _cat(tensors, dim=0) -> SparseArray:
    """Elements in the order of the tensors; along a dense dimension each is padded with zeros
    (cat_sparse_impl)."""
    first = tensors[0]
    if not is_sparse(first):
        raise NotImplementedError(messages.NO_KERNEL.format("_values", "CPU"))
    dim = wrap_dim(dim, first.ndim)
    for i, raw in enumerate(tensors):
        _check_joins(first, raw, dim, i)
    size = sum(raw.shape[dim] for raw in tensors)
    shape = (*first.shape[:dim], size, *first.shape[dim + 1 :])
    dtype = result_dtype([raw.values for raw in tensors]).numpy
    starts = np.cumsum([0, *(raw.shape[dim] for raw in tensors)])
    indices, values, axis = [], [], dim - first.sparse_dim + 1
    for raw, start in zip(tensors, starts.tolist(), strict=False):
        places, elements = raw.indices, raw.values
        if axis <= 0:
            places = places.copy()
            places[dim] += start
        else:
            around = [(0, 0)] * elements.ndim
            around[axis] = start, size - start - raw.shape[dim]
            elements = np.pad(elements, around)
        indices.append(places)
        values.append(elements.astype(dtype, copy=False))
    return SparseArray(np.concatenate(indices, 1), np.concatenate(values), shape)


def _check_joins(first: SparseArray, raw, dim: int, position: int) -> None:
    if not is_sparse(raw):
        raise RuntimeError(
            f"Concatenating sparse tensors, but a dense tensor was found at position {position}."
        )
    kinds = [(r.sparse_dim, r.ndim - r.sparse_dim) for r in (first, raw)]
    if kinds[0] != kinds[1]:
        raise RuntimeError(
            "All tensors must have the same sparse_dim and dense_dim: "
            f"{kinds[0][0]}, {kinds[0][1]}, but tensor at position {position} has "
            f"{kinds[1][0]}, {kinds[1][1]}."
        )
    if any(a != b for i, (a, b) in enumerate(zip(first.shape, raw.shape, strict=True)) if i != dim):
        raise RuntimeError(
            f"All tensors must have the same shape: {[*first.shape]} (except in the concatenating "
            f"dimension), but found shape: {[*raw.shape]} at position {position}."
        )


@stack.sparse
def _stack(tensors, dim=0) -> SparseArray:
    dim = wrap_dim(dim, tensors[0].ndim + 1)
    return _cat([_unsqueeze(raw, dim) if is_sparse(raw) else raw for raw in tensors], dim)


@select.sparse
def _select(self: SparseArray, dim, index):
    """The elements at an index, with their other indices; dense where the only sparse dimension is
    removed (select_sparse)."""
    dim, index = check_select(self.shape, dim, index)
    shape = self.shape[:dim] + self.shape[dim + 1 :]
    if dim >= self.sparse_dim:
        values = self.values.take(index, dim - self.sparse_dim + 1)
        return SparseArray(self.indices, values, shape)
    found = self.indices[dim] == index
    values = self.values[found]
    if self.sparse_dim == 1:
        return values.sum(0, dtype=values.dtype)
    return SparseArray(np.delete(self.indices[:, found], dim, 0), values, shape)


@index_select.sparse
def _index_select(self: SparseArray, dim, index) -> SparseArray:
    """The elements of each index in turn (index_select_sparse_cpu)."""
    dim = wrap_dim(dim, self.ndim)
    size, wanted = self.shape[dim], np.reshape(index, -1)
    outside = wanted[(wanted < -size) | (wanted >= size)]
    if outside.size:
        raise IndexError(
            f"index_select(): index contains {outside[0]} that is out of range for tensor of size "
            f"{[*self.shape]} at dimension {dim}"
        )
    shape = (*self.shape[:dim], wanted.size, *self.shape[dim + 1 :])
    wanted = wanted % size
    if dim >= self.sparse_dim:
        values = self.values.take(wanted, dim - self.sparse_dim + 1)
        return SparseArray(self.indices, values, shape)
    rows = [np.flatnonzero(self.indices[dim] == one) for one in wanted]
    taken = np.concatenate([np.zeros(0, np.int64), *rows])
    indices = self.indices[:, taken]
    indices[dim] = np.repeat(np.arange(wanted.size), [len(row) for row in rows])
    return SparseArray(indices, self.values[taken], shape)


@narrow_copy.sparse
def _narrow_copy(self: SparseArray, dim, start, length) -> SparseArray:
    """The flag is kept; neither dimension nor start may be negative (narrow_copy_sparse)."""
    if length < 0:
        raise RuntimeError("narrow(): length must be non-negative.")
    if not 0 <= dim < self.ndim:
        raise RuntimeError(f"Dimension {dim} out of range. Expecting 0 <= dim < {self.ndim}.")
    size, end = self.shape[dim], start + length
    if start < 0 or end > size:
        raise RuntimeError(
            "Invalid range to narrow. range(start, start+length) must be a subset of "
            f"range(0, {size})."
        )
    shape = (*self.shape[:dim], length, *self.shape[dim + 1 :])
    if dim >= self.sparse_dim:
        values = self.values.take(range(start, end), dim - self.sparse_dim + 1)
        return SparseArray(self.indices, values, shape, self.coalesced)
    found = (self.indices[dim] >= start) & (self.indices[dim] < end)
    indices = self.indices[:, found]
    indices[dim] -= start
    return SparseArray(indices, self.values[found], shape, self.coalesced)


@sum_dim.sparse
def _sum_dim(self: SparseArray, dim=None, keepdim=False, dtype=None):
    """The sum over some dimensions: dense where these are all the sparse ones (sum_coo)."""
    raw = self.with_values(summable(self.values, dtype))
    dims = wrap_dims(dim, raw.ndim)
    result = sum_over.kernel(raw, dims)
    if not keepdim:
        return result
    for one in sorted(dims):
        result = _unsqueeze(result, one) if is_sparse(result) else np.expand_dims(result, one)
    return result
