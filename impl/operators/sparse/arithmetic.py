"""The kernels for sparse tensors of operators that dense ones have, too."""

from __future__ import annotations

import numpy as np

from impl.core.dims import wrap_dim
from impl.core.memory_formats import contiguous_format, preserve_format
from impl.core.registry import OPERATORS
from impl.core.sparse_array import SparseArray
from impl.dispatch.record import check_write
from impl.dispatch.sparse_operator import is_sparse
from impl.dispatch.sparse_path import assign
from impl.operators.activations.activations import relu
from impl.operators.copies.conversions import to_copy
from impl.operators.copies.copies import clone_layout
from impl.operators.linalg.norms import vector_norm_dims
from impl.operators.pointwise import comparison, rounding
from impl.operators.pointwise.arithmetic import (
    add,
    add_scalar,
    div_scalar,
    mul,
    mul_scalar,
    neg,
    sub,
)
from impl.operators.pointwise.division import floor_divide, floor_divide_scalar, true_div
from impl.operators.pointwise.exponential import expm1, log1p
from impl.operators.pointwise.frexp import deg2rad, rad2deg
from impl.operators.pointwise.power import pow_scalar, sqrt
from impl.operators.pointwise.special import erf, erfinv
from impl.operators.pointwise.trigonometry import asin, asinh, atan, atanh, sin, sinh, tan, tanh
from impl.operators.reductions.reductions import sum_all
from impl.operators.views.transposition import permutation, permute_, t, transpose
from impl.tensor.sparse_tensor import SparseTensor, alias
from impl.tensor.tensor import Tensor

_ORDER = "add(sparse, dense) is not supported. Use add(dense, sparse) instead."
# Functions that are zero at zero: they are applied to the stored elements, once summed.
_ZERO_AT_ZERO: tuple = (
    *(asin, asinh, atan, atanh, sin, sinh, tan, tanh, expm1, log1p, sqrt, relu),
    *(rounding.abs_, rounding.sgn, rounding.sign, rounding.ceil, rounding.floor, rounding.trunc),
    *(rounding.round_whole, rounding.signbit, deg2rad, rad2deg, erf, erfinv),
    *(OPERATORS["isnan"], OPERATORS["isinf"], comparison.isposinf, comparison.isneginf),
    *(floor_divide, floor_divide_scalar),
)


@add.sparse
def _add(self, other, alpha):
    if not is_sparse(self):
        return other.added_to(np.array(self), alpha)
    if not is_sparse(other):
        raise RuntimeError(_ORDER)
    return self.plus(other, alpha)


@sub.sparse
def _sub(self, other, alpha):
    return _add(self, other, -alpha)


@add_scalar.sparse
def _add_scalar(self, other):
    raise RuntimeError(_ORDER)


@mul.sparse
def _mul(self, other):
    return self.times(other) if is_sparse(self) else other.times(self)


@mul_scalar.sparse
def _mul_scalar(self, other):
    return self.times(other)


@mul.sparse_inplace
@mul_scalar.sparse_inplace
def _mul_inplace(self, other):
    """The flag is dropped before the product takes it over, as both are one tensor
    (intersection_binary_op_sparse_dense_out)."""
    result = _mul(self, other)
    if is_sparse(other) or not is_sparse(self):
        return result
    return SparseArray(result.indices, result.values, result.shape)


@true_div.sparse
def _div(self, other):
    if is_sparse(other) or np.ndim(other):
        raise RuntimeError(
            "Sparse division requires a scalar or zero-dim dense tensor divisor (got shape "
            f"{list(other.shape)} for divisor)"
        )
    return self.with_values(self.values / other)


div_scalar.sparse(_div)
to_copy.sparse(lambda self, numpy_dtype, strides, device=None: self.converted(numpy_dtype))
sum_all.sparse(lambda self, dtype: sum_all.kernel(self.values, dtype))
clone_layout.sparse(
    lambda self, strides, memory_format: SparseArray(
        self.indices.copy(), self.values.copy(), self.shape, self.coalesced
    )
)


@neg.sparse
def _neg(self):
    return -self


def _on_elements(kernel):
    def call(self, *settings):
        summed = self.coalesce()
        return summed.with_values(kernel(summed.values, *settings))

    return call


for _operator in _ZERO_AT_ZERO:
    _operator.sparse_kernel = _on_elements(_operator.kernel)


@pow_scalar.sparse
def _pow_scalar(self, exponent):
    if exponent == 0:
        raise RuntimeError(
            "pow: cannot raise to zeroth power on sparse tensor; it would make the result tensor "
            "dense"
        )
    return _on_elements(pow_scalar.kernel)(self, exponent)


@vector_norm_dims.sparse
def _vector_norm(self, ord, dim, keepdim, dtype=None):
    """The norm of all elements, once summed (norm_sparse)."""
    if dim and len(dim) < self.ndim:
        raise RuntimeError(
            "norm_sparse currently only supports full reductions, so 'dim' must either be empty or "
            "contain all dimensions of the input"
        )
    return vector_norm_dims.kernel(self.coalesce().values, ord, None, False, dtype)


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
    raw = self._raw
    none = SparseArray(raw.indices[:, :0], raw.values[:0], raw.shape, True)
    assign(self, none)
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
