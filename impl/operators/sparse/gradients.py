"""The sparse gradients of lookups: embedding and gather."""

from __future__ import annotations

import numpy as np

from impl.core.registry import array_ops, tensor_ops
from impl.core.sparse_array import SparseArray
from impl.operators.sparse.construction import sparse_coo
from impl.tensor.tensor import new

_BY_FREQUENCY = "embedding_backward: scale_grad_by_freq not supported with sparse gradients"


def _refuse(scale_grad_by_freq) -> None:
    if scale_grad_by_freq:
        raise RuntimeError(_BY_FREQUENCY)


def _rows_of(indices, padding_idx) -> tuple[np.ndarray, np.ndarray | None]:
    """The rows that were looked up, and which of them are kept: None for all."""
    rows = indices.reshape(-1).astype(np.int64)
    kept = rows != padding_idx
    return (rows, None) if kept.all() else (rows[kept], kept)


def _array_embedding(grad, indices, shape, padding_idx, scale_grad_by_freq):
    """One element for each row that was looked up, in their order (embedding_sparse_backward)."""
    _refuse(scale_grad_by_freq)
    if not grad.size:  # of no rows, though they may have been looked up
        nothing = np.empty((1, 0), np.int64)
        return SparseArray(nothing, np.empty((0, shape[1]), grad.dtype), shape)
    rows, kept = _rows_of(indices, padding_idx)
    values = grad.reshape(-1, shape[1]) if grad.ndim != 2 else grad[...]
    values = values if kept is None else values[kept]
    return SparseArray(rows.reshape(1, -1), values, shape)


def _tensor_embedding(grad, indices, shape, padding_idx, scale_grad_by_freq):
    _refuse(scale_grad_by_freq)
    if not grad._raw.size:
        values = tensor_ops.new_zeros(grad, (0, shape[1]))
        return sparse_coo(new(np.empty((1, 0), np.int64)), values, shape, None)
    rows, kept = _rows_of(indices._raw, padding_idx)
    values = grad.reshape(-1, shape[1])
    if kept is not None:
        values = values[new(kept)]
    return sparse_coo(new(rows.reshape(1, -1)), values, shape, None)


array_ops.embedding_sparse_backward = _array_embedding
tensor_ops.embedding_sparse_backward = _tensor_embedding


def _array_gather(grad, shape, dim, index):
    """One element for each that was read (_gather_sparse_backward)."""
    if not index.ndim:
        index, grad = index.reshape(1), np.reshape(grad, 1)
    places = [
        np.broadcast_to(axis, index.shape) for axis in np.ogrid[tuple(map(slice, index.shape))]
    ]
    places[dim % index.ndim] = index
    indices = np.array([place.reshape(-1) for place in places], np.int64)
    return SparseArray(indices, np.reshape(grad, -1), shape)


def _tensor_gather(grad, shape, dim, index):
    raw = _array_gather(np.broadcast_to(index._raw, index._raw.shape), shape, dim, index._raw)
    return sparse_coo(new(raw.indices), grad.reshape(-1), shape, None)


array_ops.gather_sparse_backward = _array_gather
tensor_ops.gather_sparse_backward = _tensor_gather
