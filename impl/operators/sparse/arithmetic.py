"""The kernels for sparse tensors of operators that dense ones have, too."""

from __future__ import annotations

import numpy as np

from impl.core.dims import wrap_dim, wrap_dims
from impl.core.dtypes import BY_NUMPY
from impl.core.memory_formats import contiguous_format, preserve_format
from impl.core.sizes import broadcast_shapes
from impl.core.sparse_array import SparseArray, common_dtype
from impl.dispatch.not_implemented import not_implemented
from impl.dispatch.record import check_write
from impl.dispatch.sparse_operator import is_sparse
from impl.dispatch.sparse_path import assign
from impl.kernels.casting import converted, storable
from impl.operators.copies.conversions import to_copy
from impl.operators.copies.copies import clone_layout
from impl.operators.linalg.legacy_norms import norm_all, norm_dims
from impl.operators.linalg.norms import vector_norm_dims
from impl.operators.pointwise.arithmetic import (
    add,
    add_scalar,
    check_alpha,
    check_subtraction,
    div_scalar,
    mul,
    mul_scalar,
    rsub_scalar,
    sub,
)
from impl.operators.pointwise.division import (
    div_rounded,
    div_unrounded,
    floor_divide,
    floor_divide_into,
    floor_divide_scalar,
    true_div,
)
from impl.operators.reductions.reductions import sum_all
from impl.operators.sparse.unary import on_elements, write_elements
from impl.operators.views.transposition import permutation, permute_, t, transpose
from impl.tensor.sparse_tensor import SparseTensor, alias
from impl.tensor.tensor import Tensor

_ORDER = "add(sparse, dense) is not supported. Use add(dense, sparse) instead."
_OTHER_DTYPE = "dtype of values ({}) must match dtype of sparse tensor ({})"


def _legacy(dtype: np.dtype) -> str:
    return BY_NUMPY[dtype].legacy


def _check_result(dtype: np.dtype, target: np.dtype | None, name: str | None) -> None:
    """Raise RuntimeError for a result that the tensor to be written, of dtype `target`, cannot
    hold; without one nothing is written."""
    if target is not None and BY_NUMPY[dtype].category > BY_NUMPY[target].category:
        where = "" if name is None else f" in {name} operation"
        raise RuntimeError(
            f"Can't convert result type {_legacy(dtype)} to output {_legacy(target)}{where}"
        )


# -- sums ---------------------------------------------------------------------------------------


def _sum(self, other, alpha, target: np.dtype | None = None):
    """self + alpha * other, for a tensor of dtype `target` if one is written (add_out_sparse_cpu,
    add_out_dense_sparse_cpu)."""
    if not is_sparse(other):
        raise RuntimeError(_ORDER)
    if np.shape(self) != other.shape:
        sizes = [*np.shape(self)], [*other.shape]
        if is_sparse(self):
            raise RuntimeError(
                "add: expected sizes of 'self' and 'other' to match, but {} != {}".format(*sizes)
            )
        raise RuntimeError(
            "add: expected 'self' and 'other' to have same size, but self has size {} while other "
            "has size {} (FYI: dense-sparse addition does not currently support "
            "broadcasting)".format(*sizes)
        )
    dtype = common_dtype(self, other)
    _check_result(dtype, target, "add")
    factor = alpha if alpha == 1 else storable(alpha, dtype)
    if is_sparse(self):
        return self.plus(other, factor)
    promoted = other.with_values(other.values.astype(dtype, copy=False))
    return promoted.added_to(np.array(self, dtype), factor)


@add.sparse
def _add(self, other, alpha):
    check_alpha(self, other, alpha)
    return _sum(self, other, alpha)


@sub.sparse
def _sub(self, other, alpha):
    check_subtraction(self, other)
    check_alpha(self, other, alpha)
    return _sum(self, other, -alpha)


@add.sparse_inplace
def _add_inplace(self, other, alpha):
    """Of an alpha that the dtype cannot hold the part before the point counts."""
    return _sum(self, other, alpha, self.dtype)


@sub.sparse_inplace
def _sub_inplace(self, other, alpha):
    check_subtraction(self, other)
    return _sum(self, other, -alpha, self.dtype)


@add_scalar.sparse
def _add_scalar(self, other):
    raise RuntimeError(_ORDER)


@rsub_scalar.sparse
def _rsub_scalar(self, other, alpha):
    check_subtraction(self, other)
    return _sum(np.asarray(other), self, -alpha)


# -- products -----------------------------------------------------------------------------------


@mul.sparse
def _mul(self, other):
    return _product(self, other)


def _product(self, other, target: np.dtype | None = None):
    """The product, for a tensor of dtype `target` if one is written (mul_out_sparse_cpu)."""
    if not is_sparse(self) or not is_sparse(other):
        return _product_with_dense(*((self, other) if is_sparse(self) else (other, self)))
    if not other.ndim or not self.ndim:
        whole, single = (self, other) if not other.ndim else (other, self)
        return on_elements(mul, whole, single.to_dense()[()])
    count = self.sparse_dim
    parts = [(raw.ndim, raw.sparse_dim, raw.shape[:count]) for raw in (self, other)]
    if parts[0] != parts[1]:
        raise RuntimeError(
            "sparse_binary_op_intersection_cpu(): expects sparse inputs with equal dimensionality, "
            "number of sparse dimensions, and shape of sparse dimensions"
        )
    broadcast_shapes(self.shape, other.shape)
    dtype = common_dtype(self, other)
    if self.nnz and other.nnz:
        both = self.coalesced and other.coalesced
        _check_result(dtype, target, "mul" if both else None)
        if both and dtype.kind == "b":
            raise not_implemented("mul_out_sparse", BY_NUMPY[dtype])
    factors = [raw.with_values(raw.values.astype(dtype, copy=False)) for raw in (self, other)]
    return factors[0].times(factors[1])


def _product_with_dense(sparse: SparseArray, dense) -> SparseArray:
    """The products of the elements with a number, or with those of an array at their indices, to
    the shape of which they are repeated (_mul_dense_sparse_out)."""
    if not np.ndim(dense):
        return on_elements(mul, sparse, dense)
    shape = broadcast_shapes(dense.shape, sparse.shape)
    sparse = sparse.broadcast_to(shape)
    found = sparse.found_in(np.broadcast_to(dense, shape))
    return sparse.with_values(mul.on_arrays(found, sparse.values))


@mul_scalar.sparse
def _mul_scalar(self, other):
    return on_elements(mul_scalar, self, other)


@mul.sparse_inplace
@mul_scalar.sparse_inplace
def _mul_inplace(self, other):
    """Of a dense tensor the product with the sparse one is added to zeros. Of a sparse one the flag
    is dropped before the product takes it over, as both are one tensor
    (intersection_binary_op_sparse_dense_out)."""
    if not is_sparse(self):
        result = _product(self, other)
        return _sum(np.zeros_like(self), result, 1, self.dtype)
    result = _product(self, other, self.dtype)
    if is_sparse(other) and other.ndim and self.ndim:
        return result
    if result.dtype != self.dtype:
        raise RuntimeError(_OTHER_DTYPE.format(_legacy(result.dtype), _legacy(self.dtype)))
    return SparseArray(result.indices, result.values, result.shape)


# -- quotients ----------------------------------------------------------------------------------


def _check_divisor(other) -> None:
    if np.ndim(other):
        raise RuntimeError(
            "Sparse division requires a scalar or zero-dim dense tensor divisor (got shape "
            f"{list(other.shape)} for divisor)"
        )
    if is_sparse(other):
        raise RuntimeError(
            "Sparse division requires a scalar or zero-dim dense tensor divisor (got a sparse "
            "divisor)"
        )


def _divide(op, rounds: bool) -> None:
    """Register the kernels of a division: of the elements as they are stored or, where it rounds,
    once summed (div_out_sparse_zerodim)."""

    def quotient(self, other, *mode):
        _check_divisor(other)
        return on_elements(op, self.coalesce() if rounds else self, other, *mode)

    def written(self, other, *mode):
        _check_divisor(other)
        if rounds and not self.coalesced:
            _sum_in_memory(self)
        return write_elements(op, self, other, *mode)

    op.sparse(quotient)
    op.sparse_inplace(written)


def _sum_in_memory(raw: SparseArray) -> None:
    """Make a value coalesced, whose elements stay where they are in memory."""
    summed = raw.coalesce()
    raw.values = raw.values[: summed.nnz]
    raw.values[...] = summed.values
    raw.indices, raw.coalesced = summed.indices, True


for _op in (true_div, div_scalar, div_unrounded):
    _divide(_op, False)
for _op in (div_rounded, floor_divide, floor_divide_scalar):
    _divide(_op, True)
floor_divide_into.sparse_inplace_kernel = floor_divide.sparse_inplace_kernel


# -- copies, norms and transpositions -----------------------------------------------------------


@to_copy.sparse
def _to_copy(self, numpy_dtype, strides, device=None):
    same = self.dtype == numpy_dtype
    return self.with_values(self.values.copy() if same else converted(self.values, numpy_dtype))


sum_all.sparse(lambda self, dtype: sum_all.on_arrays(self.values, dtype))
clone_layout.sparse(
    lambda self, strides, memory_format: SparseArray(
        self.indices.copy(), self.values.copy(), self.shape, self.coalesced
    )
)


@norm_dims.sparse
@vector_norm_dims.sparse
def _vector_norm(self, ord, dim, keepdim, dtype=None):
    """The norm of all elements, once summed (norm_sparse)."""
    if dim and len(wrap_dims(dim, self.ndim)) < self.ndim:
        raise RuntimeError(
            "norm_sparse currently only supports full reductions, so 'dim' must either be empty or "
            "contain all dimensions of the input"
        )
    if keepdim:
        raise RuntimeError("norm_sparse currently does not support keepdim=True")
    if dtype is not None:
        raise RuntimeError("norm_sparse currently does not support 'dtype' argument")
    return norm_all.on_arrays(self.coalesce().values, ord)


@transpose.sparse
def _transpose(self, dim0, dim1):
    dim0, dim1 = wrap_dim(dim0, self.ndim), wrap_dim(dim1, self.ndim)
    return self if dim0 == dim1 else self.transposed(dim0, dim1)


@permute_.sparse
def _permute(self, dims):
    """The flag is kept where the first dimension is given as zero, wherever the others go
    (permute_sparse_coo)."""
    order = permutation(dims, self.ndim)
    return self.permuted(order, self.coalesced and (not dims or dims[0] == 0))


@t.sparse
def _t(self):
    return self.T


# -- methods ------------------------------------------------------------------------------------


def _clone(self, *, memory_format=None):
    """A copy with its own indices and elements (torch.Tensor.clone)."""
    return clone_layout(self, None)


def _zero(self):
    """Drop all elements, in place (torch.Tensor.zero_)."""
    check_write(self)
    if self._node is not None:
        raise NotImplementedError("zero_ of a recorded sparse tensor")
    assign(self, self._raw.without_elements())
    return self


def _copy(self, src, non_blocking=False):
    """Take over the elements of another sparse tensor, in place (torch.Tensor.copy_)."""
    check_write(self)
    if not src.is_sparse or self.requires_grad or src.requires_grad:
        raise NotImplementedError("copy_ to a sparse tensor")
    assign(self, alias(src._raw))
    return self


def _data(self):
    """A detached alias with a version counter of its own (torch.Tensor.data)."""
    result = self.detach()
    result._memory = None
    return result


def _set_data(self, value) -> None:
    """Take over the elements of another sparse tensor, and keep the version counter."""
    if not (isinstance(value, Tensor) and value.is_sparse):
        return Tensor.data.__set__(self, value)  # which raises
    self._raw = alias(value._raw)
    self._strides = value._strides


def _contiguous(self, memory_format=contiguous_format):
    """Raises RuntimeError for any memory format (torch.Tensor.contiguous)."""
    if memory_format is preserve_format:
        return self
    raise RuntimeError("unsupported memory format option Contiguous")


for _name, _method in (
    ("clone", _clone),
    ("contiguous", _contiguous),
    ("copy_", _copy),
    ("data", property(_data, _set_data)),
    ("zero_", _zero),
):
    setattr(SparseTensor, _name, _method)
