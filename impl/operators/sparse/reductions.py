"""`torch.sparse`'s sums and softmax, over the stored elements."""

from __future__ import annotations

import numpy as np

from impl.core.dims import wrap_dim, wrap_dims
from impl.core.dtypes import BY_NUMPY, WIDE
from impl.core.registry import FUNCTIONS, C
from impl.core.sparse_array import SparseArray
from impl.dispatch.definition import Array
from impl.dispatch.not_implemented import not_implemented
from impl.dispatch.sparse_operator import sparse_operator
from impl.operators.reductions.reductions import sum_dim
from impl.operators.sparse.construction import elements_at


def _remaining(raw: SparseArray, dims) -> list[int]:
    return [i for i in range(raw.ndim) if i not in dims]


@sparse_operator("SparseSumBackward0")
def sum_over(self: Array, dims) -> Array:
    """The sum over some dimensions: dense where these are all the sparse ones."""
    kept = _remaining(self, dims)
    axes = tuple(1 + d - self.sparse_dim for d in dims if d >= self.sparse_dim)
    values = sum_dim.on_arrays(self.values, axes) if axes else self.values
    sparse = [i for i in kept if i < self.sparse_dim]
    if not sparse:
        return sum_dim.on_arrays(values, (0,))
    if values.dtype != self.dtype:
        raise RuntimeError(
            f"dtype of values ({BY_NUMPY[values.dtype].legacy}) must match dtype of sparse tensor "
            f"({BY_NUMPY[self.dtype].legacy})"
        )
    shape = [self.shape[i] for i in kept]
    return SparseArray(self.indices[sparse], values, shape, False).coalesce()


@sparse_operator("SparseSumBackwardBackward0")
def sum_over_backward(grad: Array, self: Array, dims) -> Array:
    """The gradient of `sum_over`, at the indices of the tensor, once coalesced."""
    raw = self.coalesce()
    kept = _remaining(raw, dims)
    sparse = [i for i in kept if i < raw.sparse_dim]
    values = grad if not sparse else elements_at.kernel(grad, raw.indices[sparse])
    axes = [1 + d - raw.sparse_dim for d in dims if d >= raw.sparse_dim]
    if not sparse:
        values = values[None]
    values = np.broadcast_to(np.expand_dims(values, axes), raw.values.shape)
    return SparseArray(raw.indices.copy(), values.copy(), raw.shape, raw.coalesced)


sum_over.gradient(self=lambda F, grad, self, dims: sum_over_backward(grad, self, dims))


def sum(input, dim=None, dtype=None):
    """The sum over some dimensions, or all (torch.sparse.sum); see `_sparse_sum`."""
    dims = () if dim is None else (dim,)
    return (
        C._sparse_sum(input, *dims) if dtype is None else C._sparse_sum(input, *dims, dtype=dtype)
    )


def _sparse_sum(input, dim=None, dtype=None):
    """The sum over some dimensions, or all (torch._sparse_sum).

    Sparse unless all sparse dimensions are summed over. The gradient has the indices of `input`.
    Raises RuntimeError for a dimension that is named twice.
    """
    if dim is None:
        return input.coalesce().values().sum(dtype=dtype)
    if dtype is not None:
        input = input.to(dtype)
    dims = (dim,) if isinstance(dim, int) else tuple(dim)
    return sum_over(input, wrap_dims(dims, input.dim()) if dims else ())


FUNCTIONS["_sparse_sum"] = _sparse_sum


# -- softmax ------------------------------------------------------------------------------------


def _check_softmax(kernel: str, raw: SparseArray) -> None:
    if raw.dtype not in WIDE:
        raise not_implemented(kernel, BY_NUMPY[raw.dtype])


def _rows(raw: SparseArray, dim: int) -> tuple[np.ndarray, int]:
    """For each element the number of its row along `dim`, and how many there are."""
    if raw.ndim > raw.sparse_dim:
        raise NotImplementedError("softmax of a sparse tensor with dense dimensions")
    others = [i for i in range(raw.ndim) if i != dim]
    places = SparseArray(raw.indices[others], raw.values, [raw.shape[i] for i in others]).places()
    found, rows = np.unique(places, return_inverse=True)
    return rows, len(found)


def _row_sums(values, rows, count: int):
    result = np.zeros(count, values.dtype)
    np.add.at(result, rows, values)
    return result[rows]


def _shifted(raw: SparseArray, dim: int):
    """The elements less the largest of their row, and the sums of their exponentials."""
    rows, count = _rows(raw, dim)
    largest = np.full(count, -np.inf, raw.dtype)
    np.maximum.at(largest, rows, raw.values)
    shifted = raw.values - largest[rows]
    return shifted, _row_sums(np.exp(shifted), rows, count)


@sparse_operator("SparseSoftmaxBackward0")
def softmax_stored(self: Array, dim) -> Array:
    """The softmax of the stored elements along a dimension; all others count as minus infinity."""
    _check_softmax("softmax", self)
    raw = self.coalesce()
    shifted, total = _shifted(raw, dim)
    return raw.with_values(np.exp(shifted) / total)


@sparse_operator("SparseLogSoftmaxBackward0")
def log_softmax_stored(self: Array, dim) -> Array:
    """The logarithm of `softmax_stored`."""
    _check_softmax("log_softmax", self)
    raw = self.coalesce()
    shifted, total = _shifted(raw, dim)
    return raw.with_values(shifted - np.log(total))


@sparse_operator("NotImplemented")
def softmax_stored_backward(grad: Array, result: Array, dim, logarithm) -> Array:
    """The gradient of either, at the indices of the result."""
    rows, count = _rows(result, dim)
    given = elements_at.kernel(grad, result.indices)
    if logarithm:
        values = given - np.exp(result.values) * _row_sums(given, rows, count)
    else:
        values = result.values * (given - _row_sums(result.values * given, rows, count))
    return SparseArray(result.indices.copy(), values, result.shape)


softmax_stored.gradient(
    self=lambda F, grad, result, dim: softmax_stored_backward(grad, result, dim, False)
)
log_softmax_stored.gradient(
    self=lambda F, grad, result, dim: softmax_stored_backward(grad, result, dim, True)
)


def softmax(input, dim, *, dtype=None, half_to_float=False):
    """The softmax along a dimension of the stored elements (torch.sparse.softmax). Raises
    RuntimeError for `half_to_float`, which kernels of accelerators know."""
    _check_conversion("softmax", half_to_float)
    return softmax_stored(_cast(input, dtype), wrap_dim(dim, input.dim()))


def log_softmax(input, dim, *, dtype=None, half_to_float=False):
    """The logarithm of `softmax` (torch.sparse.log_softmax); raises as it does."""
    _check_conversion("log_softmax", half_to_float)
    return log_softmax_stored(_cast(input, dtype), wrap_dim(dim, input.dim()))


def _check_conversion(name: str, half_to_float: bool) -> None:
    if half_to_float:
        raise RuntimeError(f"{name}: with half to float conversion is not supported on cpu")


def _cast(input, dtype):
    return input if dtype is None else input.to(dtype)
