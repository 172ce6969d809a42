"""`torch.sparse`'s products, whose gradients keep to the indices of a sparse operand."""

from __future__ import annotations

import numpy as np
import scipy.sparse

from impl.core.dims import wrap_dim
from impl.core.dtypes import BY_NUMPY, DIFFERENTIABLE, REDUCED
from impl.core.registry import tensor_ops
from impl.core.sparse_array import SparseArray
from impl.core.warning import warn_once
from impl.dispatch.definition import Array
from impl.dispatch.not_implemented import not_implemented
from impl.dispatch.sparse_operator import is_sparse, sparse_operator
from impl.factories.creation import zeros
from impl.operators.products.addmm import addmm as dense_addmm
from impl.operators.products.addmm import expanded_base
from impl.operators.products.matmul import check_matrices, mv
from impl.operators.products.matmul import mm as dense_mm
from impl.operators.sparse.construction import elements_at, sparse_coo

_BETA = (
    "Sparse CSR tensor support is in beta state. If you miss a functionality in the sparse tensor "
    "support, please submit a feature request to https://github.com/pytorch/pytorch/issues."
)


def product(sparse: SparseArray, dense: np.ndarray) -> np.ndarray:
    """The product of a sparse matrix and a dense one, added up in the order of the elements."""
    _check_factors(sparse, dense)
    if sparse.nnz:
        _check_dtypes(sparse, dense)
    result = np.zeros((sparse.shape[0], dense.shape[1]), dense.dtype)
    rows, columns = sparse.indices
    np.add.at(result, rows, sparse.values[:, None] * dense[columns])
    return result


def _check_factors(sparse: SparseArray, dense) -> None:
    """Raise RuntimeError as s_addmm_out_sparse_dense_cpu does unless both are matrices that fit."""
    count = sparse.sparse_dim
    if count != 2:
        raise RuntimeError(f"addmm: matrices expected, got {count}D tensor")
    if sparse.ndim > count:
        raise RuntimeError(f"addmm: scalar values expected, got {sparse.ndim - count}D values")
    if dense.ndim != 2:
        raise RuntimeError(f"addmm: matrices expected, got {dense.ndim}D tensor")
    if dense.shape[0] != sparse.shape[1]:
        raise RuntimeError(
            f"addmm: Argument #3 (dense): Expected dim 0 size {sparse.shape[1]}, got "
            f"{dense.shape[0]}"
        )


def _check_dtypes(sparse: SparseArray, dense) -> None:
    """Raise the errors of a kernel for the dtype of the elements."""
    expected, found = BY_NUMPY[sparse.dtype], BY_NUMPY[dense.dtype]
    if sparse.dtype.kind == "b":
        raise not_implemented("addmm_sparse_dense", expected)
    if expected is not found:
        raise RuntimeError(f"expected scalar type {expected.legacy} but found {found.legacy}")


@dense_mm.sparse
def _mm(self, mat2):
    """The product of two matrices: sparse if both are, and laid out by columns if the second is."""
    if not is_sparse(mat2):
        return product(self, mat2)
    if is_sparse(self):
        return sparse_matmul.kernel(self, mat2)
    last = wrap_dim(-1, mat2.ndim)
    return product(mat2.transposed(wrap_dim(-2, mat2.ndim), last), self.T).T


@mv.sparse
def _mv(self, vec):
    if self.ndim != 2 or vec.ndim != 1:
        raise RuntimeError(
            "mv: two tensor dim should be 2 and 1, but got "
            f"SparseTensor Dim: {self.ndim}Tensor Dim: {vec.ndim}"
        )
    if self.shape[1] != vec.shape[0]:
        raise RuntimeError("mv: expected self.size(-1) == vec.size(-1)")
    return _mm(self, vec[:, None])[:, 0]


@dense_addmm.sparse
def _addmm(self, mat1, mat2, beta=1, alpha=1):
    self = expanded_base(self, (mat1.shape[0], mat2.shape[wrap_dim(1, mat2.ndim)]))
    result = _mm(mat1, mat2)
    if not is_sparse(result) and result.dtype != self.dtype and not is_sparse(self):
        _check_dtypes(mat1, self)
    result = result if alpha == 1 else result * result.dtype.type(alpha)
    return result if beta == 0 else self * result.dtype.type(beta) + result


@sparse_operator("SparseAddmmBackward0", autocast="lower_precision_fp")
def sparse_addmm(self: Array, mat1: Array, mat2: Array, beta, alpha) -> Array:
    """beta times a matrix plus alpha times the product of a sparse and a dense one."""
    return _addmm(self, mat1, mat2, beta, alpha)


def _multiple(value, factor):
    return value if factor == 1 else value * factor


sparse_addmm.gradient(
    self=lambda F, grad, beta: _multiple(grad, beta),
    mat1=lambda F, grad, mat1, mat2, alpha: _multiple(
        grad.mm(mat2.conj().t()).sparse_mask(mat1.coalesce()), alpha
    ),
    mat2=lambda F, grad, mat1, alpha: _multiple(tensor_ops.mm(mat1.t(), grad), alpha),
)


@sparse_operator("SparseSparseMatmulBackward0")
def sparse_matmul(self: Array, other: Array) -> Array:
    """The product of two sparse matrices, coalesced. Raises RuntimeError for other dimensions, and
    sizes that do not fit."""
    check_matrices("_sparse_sparse_matmul", self, other)
    if dense := self.ndim - self.sparse_dim or other.ndim - other.sparse_dim:
        raise RuntimeError(f"sparse_sparse_matmul_cpu: scalar values expected, got {dense}D values")
    if self.dtype != other.dtype:
        kinds = (BY_NUMPY[raw.dtype].legacy for raw in (self, other))
        raise RuntimeError("mat1 dtype {} does not match mat2 dtype {}".format(*kinds))
    if self.dtype not in DIFFERENTIABLE or self.dtype in REDUCED:
        raise not_implemented("sparse_matmul", BY_NUMPY[self.dtype])
    found = (_compressed(self) @ _compressed(other)).tocoo()
    indices = np.array([found.row, found.col], np.int64)
    raw = SparseArray(indices, found.data.astype(self.dtype), found.shape, False)
    return raw.coalesce()


def _compressed(raw: SparseArray) -> scipy.sparse.csr_array:
    """A sparse matrix by rows; warns as torch does of this layout."""
    warn_once(_BETA)
    return scipy.sparse.coo_array((raw.values, tuple(raw.indices)), raw.shape).tocsr()


def _at_indices_of(tensor, grad):
    """The elements of a sparse gradient at the indices of an operand."""
    indices = tensor._indices()
    return sparse_coo(indices, elements_at(grad, indices), tensor.shape, tensor.is_coalesced())


sparse_matmul.gradient(
    self=lambda F, grad, self, other: _at_indices_of(self, sparse_matmul(grad, other.t())),
    other=lambda F, grad, self, other: _at_indices_of(other, sparse_matmul(self.t(), grad)),
)


def mm(sparse, dense, reduce=None):
    """The product of two matrices of which the first is sparse (torch.sparse.mm).

    Its gradient has the indices of `sparse`; that of `dense`, unless that is sparse, is dense. The
    product of two sparse matrices is sparse.
    """
    if reduce is not None:
        raise NotImplementedError("sparse.mm with reduce")
    if sparse.is_sparse and dense.is_sparse:
        return sparse_matmul(sparse, dense)
    if not sparse.is_sparse:
        return dense_mm(sparse, dense)
    none = zeros(sparse.size(-2), dense.size(-1), dtype=dense.dtype)
    return sparse_addmm(none, sparse, dense, 0, 1)


def addmm(input, mat1, mat2, *, beta=1, alpha=1):
    """beta · input + alpha · mat1 @ mat2, of which `mat1` is sparse (torch.sparse.addmm)."""
    shape = (mat1.size(0), mat2.size(1))
    base = input if input.shape == shape else input.expand(shape)
    return sparse_addmm(base, mat1, mat2, beta, alpha)
