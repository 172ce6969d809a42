"""Conversions between the layouts, and the parts of a sparse tensor.

The formulas of operators on sparse tensors run on tensors (see `impl.dispatch.sparse_path`), so
they are written with tensors' own methods.
"""

from __future__ import annotations

import numpy as np

from impl.core.memory_formats import sparse_coo as sparse_layout
from impl.core.memory_formats import strided
from impl.core.sparse_array import SparseArray
from impl.dispatch.definition import Array, function
from impl.dispatch.sparse_operator import is_sparse, sparse_operator
from impl.operators.sparse.construction import elements_at, sparse_coo
from impl.tensor.sparse_tensor import SparseTensor, alias
from impl.tensor.tensor import Tensor
from impl.tensor.views import NO_GRAD, ViewMeta

_NO_LAYOUT = "{} expected sparse {}tensor layout but got Strided"


def _stored(dense, sparse_dim: int) -> SparseArray:
    """The elements of a dense value that are not zero, of which the first dimensions are sparse."""
    some = dense != 0
    if dense.ndim > sparse_dim:
        some = some.any(tuple(range(sparse_dim, dense.ndim)))
    indices = np.array(np.nonzero(np.atleast_1d(some)), np.int64)[:sparse_dim]
    elements = dense[tuple(indices)].copy() if dense.ndim else dense[some].reshape(-1)
    return SparseArray(indices, elements, dense.shape, True)


@sparse_operator("ToSparseBackward1")
def to_sparse_all(self: Array) -> Array:
    """The elements that are not zero, all dimensions sparse."""
    return _stored(self, self.ndim)


@sparse_operator("ToSparseBackward0")
def to_sparse_first(self: Array, sparse_dim) -> Array:
    """The elements that are not zero, the first dimensions sparse."""
    return _stored(self, sparse_dim)


@sparse_operator("ToDenseBackward0")
def sparse_to_dense(self: Array, masked_grad) -> Array:
    """The dense value of a sparse one."""
    return self.to_dense()


@sparse_operator("CoalesceBackward0")
def sparse_coalesce(self: Array) -> Array:
    """The value with distinct, sorted indices."""
    return self.coalesce()


@sparse_operator("ValuesBackward0")
def sparse_values(self: Array) -> Array:
    """The elements of a coalesced value."""
    return self.values


@sparse_operator("SparseMaskBackward0")
def mask_sparse(self: Array, mask: Array) -> Array:
    """The elements of a value at the indices of a sparse one. Raises RuntimeError for other sizes,
    and for a sparse value with another number of sparse dimensions."""
    if np.shape(self) != mask.shape:
        raise RuntimeError(
            f"sparse_mask(): operands have incompatible sizes; self has size {[*self.shape]} but "
            f"mask has size {[*mask.shape]}"
        )
    if not is_sparse(self):
        return SparseArray(mask.indices.copy(), mask.found_in(self), mask.shape, mask.coalesced)
    if self.sparse_dim != mask.sparse_dim:
        raise RuntimeError(
            "sparse_mask(): the number of sparse dimensions in `self` should match that of the "
            f"`mask`. Got `self.sparse_dim() == {self.sparse_dim}` != `mask.sparse_dim() == "
            f"{mask.sparse_dim}`."
        )
    if self is mask:
        return alias(mask)
    found = elements_at.kernel(self, mask.indices)
    return SparseArray(mask.indices.copy(), found, mask.shape, mask.coalesced)


def _to_dense_backward(F, grad, self, masked_grad):
    """The gradient of `to_dense`: at the indices of its argument, or where it is not zero."""
    if masked_grad is False:
        return grad.to_sparse(self.sparse_dim())
    return grad.sparse_mask(self.coalesce())


to_sparse_all.gradient(self=lambda F, grad: grad.to_dense())
to_sparse_first.gradient(self=lambda F, grad: grad.to_dense())
sparse_to_dense.gradient(self=_to_dense_backward)
sparse_coalesce.gradient(self=lambda F, grad: grad)
sparse_values.gradient(
    self=lambda F, grad, self: sparse_coo(self._indices(), grad, self.shape, True)
)
mask_sparse.gradient(self=lambda F, grad, self, mask: _mask_backward(grad, self.is_sparse, mask))


def _mask_backward(grad, sparse: bool, mask):
    """The gradient of `sparse_mask` in the layout of its argument."""
    found = grad if grad.is_sparse else grad.sparse_mask(mask)
    return found if sparse else found.to_dense()


# -- methods ------------------------------------------------------------------------------------


@function(torch=False)
def to_sparse(self, sparse_dim=None, *, layout=None, blocksize=None, dense_dim=None):
    """The elements that are not zero, as a sparse tensor; of `sparse_dim` sparse dimensions, or all
    (torch.Tensor.to_sparse). The gradient is dense."""
    if self.is_sparse:
        return _from_sparse(self, sparse_dim, layout, dense_dim)
    if layout is not None and layout is not sparse_layout:
        return _to_other_layout(self, layout, dense_dim)
    if blocksize is not None:
        raise RuntimeError(
            "dense_to_sparse: conversion from Strided to Sparse with blocksize argument given is "
            "not supported"
        )
    if sparse_dim is None:
        _check_dense_dim("dense_to_sparse", self, dense_dim, self.dim())
        if not dense_dim:
            return to_sparse_all(self)
        sparse_dim = self.dim() - dense_dim
        if not sparse_dim:
            raise RuntimeError(
                "dense_to_sparse: dense_dim argument must be !=self.dim() when self.dim()>0"
            )
    _check_sparse_dim(self, sparse_dim)
    return to_sparse_first(self, sparse_dim)


def _check_dense_dim(name: str, tensor: Tensor, dense_dim: int | None, most: int) -> None:
    if dense_dim is not None and not 0 <= dense_dim <= most:
        raise RuntimeError(
            f"{name}: dense_dim argument must be in [0,{most}] range, but {dense_dim} is given"
        )


def _check_sparse_dim(tensor: Tensor, sparse_dim: int) -> None:
    dims = tensor.dim()
    if dims and not sparse_dim:
        raise RuntimeError("dense_to_sparse: sparse_dim argument must be in >0 when self.dim()>0")
    if not 0 <= sparse_dim <= dims:
        raise RuntimeError(
            f"dense_to_sparse: sparse_dim argument must be in [0,{dims}] range, but {sparse_dim} "
            "is given"
        )


def _to_other_layout(tensor: Tensor, layout, dense_dim: int | None) -> Tensor:
    """A strided tensor in a layout that is not sparse_coo: itself if it is strided."""
    if layout is not strided:
        raise NotImplementedError(f"to_sparse with the layout {layout}")
    _check_dense_dim("to_sparse", tensor, dense_dim, 0)
    return tensor


def _from_sparse(tensor: Tensor, sparse_dim: int | None, layout, dense_dim: int | None) -> Tensor:
    if layout is strided:
        return tensor.to_dense()
    if dense_dim is not None:
        raise RuntimeError(
            "to_sparse: conversion from Sparse to Sparse with dense_dim argument given is not "
            "supported"
        )
    if sparse_dim is not None and sparse_dim != tensor.sparse_dim():
        raise RuntimeError(
            "to_sparse: conversion from Sparse to Sparse with sparse_dim argument "
            "!=self.sparse_dim() is not supported"
        )
    return tensor


@function(torch=False)
def to_dense(self, dtype=None, *, masked_grad=None):
    """The strided tensor with the stored elements, zero elsewhere (torch.Tensor.to_dense).

    The gradient is sparse: at the indices of the tensor, or without `masked_grad` where it is not
    zero. A strided tensor is returned as it is.
    """
    if self.is_sparse and dtype is not None:
        raise RuntimeError("dtype argument is not supported by sparse_to_dense")
    result = sparse_to_dense(self, masked_grad) if self.is_sparse else self
    return result if dtype is None else result.to(dtype)


@function(torch=False)
def coalesce(self):
    """The tensor with distinct, sorted indices, of which the elements are summed; itself if it is
    known to be so (torch.Tensor.coalesce)."""
    _require("coalesce", self, "coordinate ")
    return self if self.is_coalesced() else sparse_coalesce(self)


@function(torch=False)
def is_coalesced(self) -> bool:
    """Whether the indices are known to be distinct and sorted (torch.Tensor.is_coalesced)."""
    raise RuntimeError(_NO_LAYOUT.format("is_coalesced", "coordinate "))


@function(torch=False)
def values(self):
    """The stored elements of a coalesced tensor, recorded (torch.Tensor.values)."""
    _require("values", self)
    _require_coalesced("values", self)
    result = sparse_values(self)
    result._view = ViewMeta(self, NO_GRAD, result._storage.version)
    return result


@function(torch=False)
def indices(self):
    """The indices of a coalesced tensor, (sparse dimensions, n) (torch.Tensor.indices)."""
    _require("indices", self, "coordinate ")
    _require_coalesced("indices", self)
    return self._indices()


@function(torch=False)
def sparse_mask(self, mask):
    """The elements at the indices of a sparse tensor (torch.Tensor.sparse_mask); the gradient is
    dense, and zero elsewhere."""
    if not mask.is_sparse:
        raise RuntimeError("sparse_mask: expected mask to be sparse")
    return mask_sparse(self, mask)


def _require(name: str, tensor: Tensor, kind: str = "") -> None:
    if not tensor.is_sparse:
        raise RuntimeError(_NO_LAYOUT.format(name, kind))


def _require_coalesced(name: str, tensor: SparseTensor) -> None:
    if not tensor.is_coalesced():
        raise RuntimeError(
            f"Cannot get {name} on an uncoalesced tensor, please call .coalesce() first"
        )
