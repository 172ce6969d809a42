"""The kernels for sparse tensors of functions of one tensor that are zero at zero."""

from __future__ import annotations

from impl.core import messages
from impl.core.registry import OPERATORS
from impl.core.sparse_array import SparseArray
from impl.operators.activations.activation_derivatives import threshold_backward
from impl.operators.activations.activations import relu
from impl.operators.pointwise import comparison, rounding
from impl.operators.pointwise.arithmetic import neg
from impl.operators.pointwise.complex_parts import (
    conj_physical_copy,
    conj_physical_inplace,
    conj_physical_of_real,
)
from impl.operators.pointwise.exponential import expm1, log1p
from impl.operators.pointwise.frexp import deg2rad, rad2deg
from impl.operators.pointwise.power import pow_scalar, sqrt
from impl.operators.pointwise.special import erf, erfinv
from impl.operators.pointwise.trigonometry import asin, asinh, atan, atanh, sin, sinh, tan, tanh
from impl.operators.pointwise.where import nan_to_num
from impl.tensor.memory_overlap import check_cast

# Functions that are zero at zero: they are applied to the stored elements, once summed.
_ZERO_AT_ZERO: tuple = (
    *(asin, asinh, atan, atanh, sin, sinh, tan, tanh, expm1, log1p, sqrt, relu),
    *(rounding.abs_, rounding.sgn, rounding.sign, rounding.ceil, rounding.floor, rounding.trunc),
    *(rounding.round_whole, rounding.signbit, rounding.frac, deg2rad, rad2deg, erf, erfinv),
    *(OPERATORS["isnan"], OPERATORS["isinf"], comparison.isposinf, comparison.isneginf, nan_to_num),
)
# Those that have another operator for the write in place.
_INTO = {asinh: OPERATORS["asinh_into"], atanh: OPERATORS["atanh_into"]}
_NAMES = {"round_whole": "round"}


def on_elements(op, raw: SparseArray, *settings) -> SparseArray:
    """The value with the results of a dense operator for its elements, as they are stored."""
    return raw.with_values(op.on_arrays(raw.values, *settings))


def write_elements(op, raw: SparseArray, *settings) -> SparseArray:
    """The value itself, after the results have been written into the memory of its elements.

    Raises RuntimeError for results of a category that its dtype cannot hold.
    """
    results = op.on_arrays(raw.values, *settings)
    check_cast(results.dtype, raw.dtype)
    raw.values[...] = results
    return raw


def _summed(op):
    """The kernel: the results for the elements once summed (coalesced_unary_ufunc)."""
    return lambda raw, *settings: on_elements(op, raw.coalesce(), *settings)


def _written(op, name: str):
    """The kernel in place, which does not sum elements (coalesced_unary_ufunc_)."""

    def kernel(raw, *settings):
        if not raw.coalesced:
            raise RuntimeError(f"{name}_ requires coalesced input")
        return write_elements(op, raw, *settings)

    return kernel


for _op in _ZERO_AT_ZERO:
    _op.sparse_kernel = _summed(_op)
    _into = _INTO.get(_op, _op)
    _into.sparse_inplace_kernel = _written(_op, _NAMES.get(_op.name, _op.name))


@threshold_backward.sparse
def _threshold_backward(grad_output, self, threshold) -> SparseArray:
    """The gradient at the indices of the gradient, which are those of the tensor."""
    given, kept = grad_output.coalesce(), self.coalesce()
    return given.with_values(threshold_backward.on_arrays(given.values, kept.values, threshold))


for _op in (neg, conj_physical_copy, conj_physical_of_real):
    _op.sparse_kernel = lambda raw, _op=_op: on_elements(_op, raw)
    _op.sparse_inplace_kernel = lambda raw, _op=_op: write_elements(_op, raw)


@conj_physical_inplace.sparse_inplace
def _conj_physical_inplace(self):
    raise RuntimeError("unsupported tensor layout: Sparse")


@pow_scalar.sparse
def _pow_scalar(self, exponent) -> SparseArray:
    """The power of the summed elements, in their dtype (pow_out_sparse_scalar)."""
    if not exponent:
        raise RuntimeError(
            "pow: cannot raise to zeroth power on sparse tensor; it would make the result tensor "
            "dense"
        )
    if isinstance(exponent, complex) and exponent.imag:
        raise RuntimeError("value cannot be converted to type double without overflow")
    result = on_elements(pow_scalar, self.coalesce(), exponent)
    check_cast(result.dtype, self.dtype)
    return result


@pow_scalar.sparse_inplace
def _pow_scalar_inplace(self, exponent):
    raise NotImplementedError(messages.NO_KERNEL.format("pow_.Scalar", "SparseCPU"))
