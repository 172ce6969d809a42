"""Sparse tensors of given indices and elements (ATen/native/sparse/SparseTensor.cpp)."""

from __future__ import annotations

import numpy as np

from impl.core.devices import is_meta_device
from impl.core.dims import require_dims
from impl.core.dtypes import get_default_dtype, int64
from impl.core.sizes import Size
from impl.core.sparse_array import SparseArray
from impl.core.warning import warn_once
from impl.dispatch.definition import Array, function
from impl.dispatch.sparse_operator import is_sparse, sparse_operator
from impl.factories.creation.options import check_place, flagged
from impl.tensor.sparse_tensor import sparse_tensor
from impl.tensor.tensor import Tensor, new

_UNCHECKED = (
    "Sparse invariant checks are implicitly disabled. Memory errors (e.g. SEGFAULT) will occur "
    "when operating on a sparse tensor which violates the invariants, but checks incur "
    "performance overhead. To silence this warning, explicitly opt in or out. See "
    "`torch.sparse.check_sparse_tensor_invariants.__doc__` for guidance."
)


@sparse_operator("SparseCooTensorWithDimsAndTensorsBackward0")
def sparse_coo(indices: Array, values: Array, size, is_coalesced=None) -> Array:
    """The sparse value over the indices and elements."""
    return SparseArray(indices[...], values[...], size, is_coalesced)


@sparse_operator("SparseMaskHelperBackward0")
def elements_at(sparse: Array, indices: Array) -> Array:
    """The elements of a sparse or dense value at the indices, zero where it has none
    (sparse_constructor_values_backward)."""
    if not is_sparse(sparse):
        return np.ascontiguousarray(sparse[tuple(indices)])
    known = sparse.coalesce()
    places, wanted = known.places(), SparseArray(indices, indices.T, sparse.shape).places()
    result = np.zeros((indices.shape[1], *known.values.shape[1:]), sparse.dtype)
    if known.nnz:
        at = np.minimum(np.searchsorted(places, wanted), known.nnz - 1)
        found = places[at] == wanted
        result[found] = known.values[at[found]]
    return result


sparse_coo.gradient(values=lambda F, grad, result: F.elements_at(grad, result._indices()))
elements_at.gradient(
    sparse=lambda F, grad, indices, sparse_shape: F.sparse_coo(indices, grad, sparse_shape)
)


def _as_tensor(data, dtype) -> Tensor:
    if isinstance(data, Tensor):
        return data if dtype is None or data.dtype is dtype else data.to(dtype)
    array = np.asarray(data)
    if dtype is None and array.dtype.kind == "f" and not isinstance(data, np.ndarray):
        dtype = get_default_dtype()
    return new(array if dtype is None else array.astype(dtype.numpy))


@function(method=False)
def sparse_coo_tensor(
    indices=None,
    values=None,
    size=None,
    *,
    dtype=None,
    device=None,
    pin_memory=False,
    requires_grad=False,
    check_invariants=None,
    is_coalesced=None,
):
    """A sparse tensor of elements at indices; an index that occurs several times stands for the sum
    (torch.sparse_coo_tensor).

    Args:
        indices: (sparse dimensions, n) integers; the sizes of a tensor without elements if there
            are no `values`.
        values: (n, dense dimensions).
        size: the sizes; by default the smallest that have all indices.

    It is recorded: the gradient of `values` are the elements of the gradient at the indices. Raises
    RuntimeError for indices and values whose sizes do not fit and for negative sizes, without
    sizes for negative indices, and with `check_invariants` for indices outside the sizes or that
    are not coalesced as `is_coalesced` says. Warns that they are not checked otherwise.
    """
    check_place(device, pin_memory)
    if device is not None and is_meta_device(device):
        raise NotImplementedError("sparse tensors of the meta device")
    if check_invariants is None:
        warn_once(_UNCHECKED)
    if values is None:
        sizes = size if indices is None else indices
        shape = (sizes,) if isinstance(sizes, int) else tuple(sizes)
        _check_not_negative(shape)
        kind = get_default_dtype() if dtype is None else dtype
        raw = SparseArray(np.zeros((len(shape), 0), np.int64), np.zeros(0, kind.numpy), shape, True)
        return flagged("sparse_coo_tensor", sparse_tensor(raw), requires_grad)
    places = _as_tensor(indices, None)
    elements = _as_tensor(values, dtype)
    if not elements._raw.ndim:
        elements = elements.reshape(1)
    if places._raw.dtype != np.int64:
        places = places.to(int64)
    shape = check_parts(places._raw, elements._raw, size, check_invariants)
    if check_invariants and is_coalesced:
        _check_coalesced(SparseArray(places._raw, elements._raw, shape))
    result = sparse_coo(places.detach(), elements, shape, is_coalesced)
    if result._node is not None:
        return result
    return flagged("sparse_coo_tensor", result, requires_grad)


def check_parts(indices, values, size, check) -> Size:
    """The size of a sparse tensor with these parts, by default the smallest.

    Raises RuntimeError for parts that do not fit, and with `check` for indices outside the size.
    """
    if size is None:
        if indices.ndim != 2:
            raise RuntimeError(f"indices must be sparse_dim x nnz, but got: {list(indices.shape)}")
        if indices.size and indices.min() < 0:
            dim = int(np.flatnonzero(indices.min(1) < 0)[0])
            raise RuntimeError(f"found negative index {indices.min(1)[dim]} for dim {dim}")
        largest = indices.max(1) + 1 if indices.shape[1] else np.zeros(len(indices), np.int64)
        size = (*map(int, largest), *values.shape[1:])
    require_dims(0, indices.ndim)
    shape, sparse, dense = tuple(size), indices.shape[0], values.ndim - 1
    if len(shape) != sparse + dense:
        raise RuntimeError(
            f"'len(size) == sparse_dim + dense_dim' is not satisfied: len(size) = {len(shape)}, "
            f"sparse_dim = {sparse}, dense_dim = {dense}"
        )
    if indices.shape[1] != values.shape[0]:
        raise RuntimeError(
            "indices and values must have same nnz, but got nnz from indices: "
            f"{indices.shape[1]}, nnz from values: {values.shape[0]}"
        )
    if shape[sparse:] != values.shape[1:]:
        raise RuntimeError(
            f"values has incorrect size, expected {[len(values), *shape[sparse:]]}, got "
            f"{list(values.shape)}"
        )
    if check and indices.size:
        for dim, row in enumerate(indices):
            if row.min() < 0:
                raise RuntimeError(f"found negative index {row.min()} for dim {dim}")
            if row.max() >= shape[dim]:
                raise RuntimeError(
                    f"size is inconsistent with indices: for dim {dim}, size is {shape[dim]} but "
                    f"found index {row.max()}"
                )
    _check_not_negative(shape)
    return Size(shape)


def _check_not_negative(shape) -> None:
    if any(n < 0 for n in shape):
        raise RuntimeError("numel: integer multiplication overflow")


def _check_coalesced(raw: SparseArray) -> None:
    """Raise RuntimeError unless the indices are distinct and sorted."""
    if (np.diff(raw.places()) <= 0).any():
        raise RuntimeError(
            "cannot set is_coalesced to true if indices correspond to uncoalesced COO tensor"
        )
