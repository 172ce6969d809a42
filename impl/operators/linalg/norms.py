"""Vector and matrix norms (torch.linalg).

Their gradient is zero where the norm is (the subgradient of least size), shared by ties for the
infinite orders, and undefined for order zero (torch's norm_backward).
"""

from __future__ import annotations

import functools
import math

import numpy as np

from impl.core import dtypes, messages
from impl.core.dims import wrap_dim, wrap_dims
from impl.core.dtypes import FLOATING
from impl.core.registry import array_ops, tensor_ops
from impl.core.warning import warn_once
from impl.dispatch.definition import (
    Array,
    formula_operation,
    operator,
    taking_out,
)
from impl.dispatch.not_implemented import check_floating
from impl.dispatch.out import copy_out, store_exactly
from impl.kernels.empty_norms import require_identity
from impl.kernels.reduced_precision import widened
from impl.operators.linalg import lapack
from impl.operators.linalg.singular_values import singular_norm
from impl.operators.reductions.reductions import restore
from impl.tensor.batched_tensor import writable
from impl.tensor.tensor import Tensor


def refuse_complex_order(name: str, order) -> None:
    """Raise RuntimeError for a complex number as the order of a norm."""
    if isinstance(order, complex):
        raise RuntimeError(f"linalg.{name}: Expected a non-complex scalar as the order of norm.")


def raw_norm(raw, order: float, axes, keepdim: bool):
    """The norm of order `order` over `axes`; half and bfloat16 are accumulated in float32.

    That of single numbers is their absolute value, as in ATen.
    """
    kind = raw.dtype
    size = np.abs(widened(raw))
    if order == math.inf or (order and _is_single(size.shape, axes)):
        result = np.max(size, axis=axes, keepdims=keepdim)
    elif order == -math.inf:
        result = np.min(size, axis=axes, keepdims=keepdim)
    elif order == 0:
        # Of single numbers ATen casts ones and zeros of their dtype.
        if kind.kind == "c" and raw.size and _is_single(size.shape, axes):
            warn_once(messages.DISCARDED)
        result = np.sum(size != 0, axis=axes, keepdims=keepdim, dtype=size.dtype)
    elif order == 1:
        result = np.sum(size, axis=axes, keepdims=keepdim)
    elif order == 2:
        result = np.sqrt(np.sum(size * size, axis=axes, keepdims=keepdim))
    else:
        total = np.sum(np.power(size, size.dtype.type(order)), axis=axes, keepdims=keepdim)
        result = np.power(total, 1 / size.dtype.type(order))
        if not raw.size:
            result = np.zeros_like(result)  # the sum of nothing, which no power is taken of
    return result.astype(kind if kind.kind != "c" else result.dtype)


def _is_single(shape, axes) -> bool:
    """Whether all dimensions among `axes`, None for all, have one element; one at least is named,
    which a tensor without dimensions has not."""
    return axes != () and all(shape[d] == 1 for d in (range(len(shape)) if axes is None else axes))


def _writes(args) -> int:
    """How often ATen's kernel writes to a norm: once, if it is that of nothing or of single numbers
    (see `raw_norm`)."""
    shape = args[0]._raw.shape
    return int(0 in shape or _is_of_single_numbers(args))


def _written_by(args) -> str | None:
    """The operator by which it does; dimensions that are not kept it squeezes, which gives a tensor
    that does not require grad."""
    keepdim = len(args) > 3 and args[3]
    by_abs = keepdim and args[1] and args[0]._raw.size and _is_of_single_numbers(args)
    return "abs" if by_abs else None


def _is_of_single_numbers(args) -> bool:
    shape, dim = args[0]._raw.shape, args[2] if len(args) > 2 else None
    return _is_single(shape, wrap_dims(dim, len(shape)) if dim else None)


# Declares an operator whose kernel is `raw_norm`.
norm_operator = functools.partial(
    operator,
    function=False,
    method=False,
    layout_sensitive=True,
    writes=_writes,
    written_by=_written_by,
)


@norm_operator(node="LinalgVectorNormBackward0", batching="dims")
def vector_norm_dims(self: Array, ord, dim, keepdim, dtype=None) -> Array:
    require_identity(self, float(ord), dim)
    raw = self if dtype is None else self.astype(dtype.numpy)
    return raw_norm(raw, float(ord), wrap_dims(dim, raw.ndim) if dim else None, keepdim)


def norm_backward(F, grad, value, order: float, norm, dim, keepdim):
    """The gradient of a norm of `value`, with the operations and in the order of torch's."""
    ndim = value.ndim
    if dim:
        grad = restore(F, grad, dim, keepdim, ndim)
        norm = restore(F, norm, dim, keepdim, ndim)
    if order == 0:
        return None
    if order == 1:
        return F.sgn(value) * grad
    if order == 2:
        return grad * F.fill_fresh(value / norm, norm == 0, 0)
    # torch evaluates the right factor first, which is visible in the graph of the gradient.
    if math.isinf(order):
        both_nan = F.logical_and(F.isnan(value), F.isnan(norm))
        ties = F.logical_or(F.abs(value) == norm, both_nan)
        shared = (grad / F.count_along(ties, dim, grad)) * ties
        return F.sgn(value) * shared
    if order < 1:
        steep = F.fill_fresh(F.pow_fresh(F.abs(value), order - 1), value == 0, 0)
        scaled = F.sgn(value) * steep
        power = F.pow_scalar(norm, 1 - order)
        return scaled * grad * power
    if order < 2:
        power = F.pow_fresh(F.abs(value), order - 1)
        scaled = F.sgn(value) * power
    else:
        scaled = value * F.pow_fresh(F.abs(value), order - 2)
    return scaled * F.fill_fresh(grad / F.pow_scalar(norm, order - 1), norm == 0, 0)


# torch writes these in place into values just computed, whose layout they therefore keep.


@formula_operation
def fill_fresh(value, mask, number):
    """The value, which has no other reference, with `number` written where the mask is true."""
    return np.where(mask, value.dtype.type(number), value)


@formula_operation
def pow_fresh(value, exponent):
    """The value, which has no other reference, raised to a power in place."""
    return array_ops.pow_scalar(value, exponent)


tensor_ops.fill_fresh = lambda value, mask, number: writable(value, mask).masked_fill_(mask, number)
tensor_ops.pow_fresh = lambda value, exponent: value.pow_(exponent)


vector_norm_dims.gradient(
    self=lambda F, grad, self, ord, result, dim, keepdim: norm_backward(
        F, grad, self, float(ord), result, dim, keepdim
    )
)


def norm_tangent(F, tangent, value, order: float, norm, dim, keepdim):
    """The tangent of a norm of `value`, with the operations and in the order of torch's."""
    if order == 0:
        return F.zeros_like(norm)
    if order == 1:
        return F.sum_dim(F.real_part(F.sgn(value) * F.conj(tangent)), dim, keepdim)
    if order == 2:
        along = F.sum_dim(F.real_part(value * F.conj(tangent)), dim, keepdim)
        return F.fill_fresh(writable(along, norm).div_(norm), norm == 0, 0)
    if math.isinf(order):
        norm = restore(F, norm, dim, keepdim, value.ndim)
        both_nan = F.logical_and(F.isnan(value), F.isnan(norm))
        ties = F.cast_like(F.logical_or(F.abs(value) == norm, both_nan), norm)
        count = F.count_along(ties != 0, dim, norm)
        along = F.real_part(F.sgn(value) * F.conj(tangent))
        return F.sum_dim(along * ties / count, dim, keepdim)
    size = F.abs(value)
    along = F.real_part((F.sgn(value) if order < 2 else value) * F.conj(tangent))
    if order < 1:
        steep = F.fill_fresh(F.pow_fresh(size, order - 1), value == 0, 0)
        return F.sum_dim(steep * along, dim, keepdim) * F.pow_scalar(norm, 1 - order)
    scale = F.pow_fresh(size, order - (1 if order < 2 else 2))
    along = F.sum_dim(scale * along, dim, keepdim)
    return F.fill_fresh(along / F.pow_scalar(norm, order - 1), norm == 0, 0)


vector_norm_dims.forward(
    lambda F, self_t, self, ord, result, dim, keepdim: norm_tangent(
        F, self_t, self, float(ord), result, dim, keepdim
    )
)


@functools.partial(taking_out, name="linalg_vector_norm", storing=store_exactly)
def vector_norm(x, ord=2, dim=None, keepdim=False, *, dtype=None):
    """The norm of all elements, or over `dim`, of any order (torch.linalg.vector_norm).

    Order 0 counts the elements that are not zero. Computed in `dtype` if given. Raises
    RuntimeError for integers, for a narrower dtype, and for an empty reduction without a value.
    """
    if isinstance(ord, (str, type(None))):
        raise TypeError(
            "linalg_vector_norm(): argument 'ord' (position 2) must be Number, "
            f"not {type(ord).__name__}"
        )
    if dim is not None:
        dim = (dim,) if isinstance(dim, int) else tuple(dim)
    if x.is_sparse:  # its kernel makes its own checks
        return vector_norm_dims(x, ord, dim, keepdim, dtype)
    _require_floating("linalg.vector_norm", x)
    refuse_complex_order("vector_norm", ord)
    if dtype is not None:
        require_identity(x._raw, float(ord), dim)
        _check_widening("linalg.vector_norm", x.dtype, dtype)
        dtype = None if dtype is x.dtype else dtype
    return vector_norm_dims(x, ord, dim, keepdim, dtype)


def _require_floating(name: str, x: Tensor) -> None:
    if x.dtype.category < FLOATING:
        raise NotImplementedError(
            f"{name}: Expected a floating point or complex tensor as input. Got {x.dtype.legacy}"
        )


def _check_widening(name: str, given, wanted) -> None:
    if wanted.category < FLOATING:
        raise RuntimeError(
            f"{name}: dtype should be floating point or complex, but got {wanted.legacy}"
        )
    if wanted.is_complex and not given.is_complex:
        raise RuntimeError(f"{name}: dtype should be real for real inputs, but got {wanted.legacy}")
    if given.is_complex and not wanted.is_complex:
        raise RuntimeError(
            f"{name}: dtype should be complex for complex inputs, but got {wanted.legacy}"
        )
    if dtypes.promote_types(given, wanted) is not wanted:
        raise RuntimeError(
            f"{name}: the dtype of the input ({given.legacy}) should be convertible without "
            f"narrowing to the specified dtype ({wanted.legacy})"
        )


def _copy_norm(name: str, out, result: Tensor):
    if isinstance(out, Tensor) and out.dtype is not result.dtype:
        raise RuntimeError(
            f"{name} expected out tensor dtype {result.dtype.legacy} but got: {out.dtype.legacy}"
        )
    return copy_out(name, out, result)


def _matrix_dims(A, dim, low_precision: bool) -> tuple[int, int]:
    """The two dimensions of matrices, counted from the first. Raises RuntimeError for another
    number of them, twice the same one, and a tensor of fewer dimensions or of integers."""
    lapack.check_matrices("linalg.matrix_norm", A._raw)
    check_floating("linalg.matrix_norm", A._raw, low_precision)
    dim = tuple(dim)
    if len(dim) != 2:
        shown = " ".join(map(str, dim))
        raise RuntimeError(f"linalg.matrix_norm: dim must be a 2-tuple. Got {shown}")
    first, second = (wrap_dim(d, A._raw.ndim) for d in dim)
    if first == second:
        raise RuntimeError(f"linalg.matrix_norm: dims must be different. Got ({first}, {second})")
    return first, second


@functools.partial(taking_out, name="linalg.matrix_norm", storing=_copy_norm, derived=False)
def matrix_norm(A, ord="fro", dim=(-2, -1), keepdim=False, *, dtype=None):
    """The Frobenius norm of matrices, the largest or smallest sum over columns (1, -1) or rows
    (inf, -inf), or the sum ("nuc"), the largest (2) or the smallest (-2) of the singular values
    (torch.linalg.matrix_norm).

    Raises RuntimeError for other orders and ranks.
    """
    refuse_complex_order("matrix_norm", ord)
    if ord not in ("fro", "nuc") and (isinstance(ord, str) or abs(ord) not in (1, 2, math.inf)):
        shown = ord if isinstance(ord, str) else f"{ord:g}"
        raise RuntimeError(f"linalg.matrix_norm: Order {shown} not supported.")
    first, second = _matrix_dims(A, dim, ord not in ("nuc", 2, -2))
    if dtype is not None:
        _check_widening("linalg.matrix_norm", A.dtype, dtype)
    if ord == "fro":
        return vector_norm(A, 2, (first, second), keepdim, dtype=dtype)
    if ord in ("nuc", 2, -2):
        return singular_norm(A, ord, (first, second), keepdim, dtype)
    if math.isinf(ord):
        first, second = second, first
    nothing = A._raw.shape[second] == 0
    if not keepdim and first < second:
        second -= 1
    sums = vector_norm(A, 1.0, (first,), keepdim, dtype=dtype)
    if nothing and ord > 0:
        # The largest of no sums is zero, and does not depend on the matrix.
        return tensor_ops.new_zeros(sums, sums.sum((second,), keepdim)._raw.shape).zero_()
    return sums.amax((second,), keepdim) if ord > 0 else sums.amin((second,), keepdim)


@functools.partial(taking_out, name="linalg.norm", storing=_copy_norm, derived=False)
def linalg_norm(A, ord=None, dim=None, keepdim=False, *, dtype=None):
    """A vector norm, or a matrix norm for two dimensions and an order (torch.linalg.norm)."""
    ndim = A._raw.ndim
    if dim is not None:
        dim = (dim,) if isinstance(dim, int) else tuple(dim)
        if len(dim) not in (1, 2):
            raise RuntimeError(
                f"linalg.norm: If dim is specified, it must be of length 1 or 2. Got {[*dim]}"
            )
    elif ord is not None and ndim not in (1, 2):
        raise RuntimeError(
            "linalg.norm: If dim is not specified but ord is, the input must be 1D or 2D. "
            f"Got {ndim}D."
        )
    if isinstance(ord, str) or (
        ord is not None and (len(dim) == 2 if dim is not None else ndim == 2)
    ):
        return matrix_norm(A, ord, (-2, -1) if dim is None else dim, keepdim, dtype=dtype)
    return vector_norm(A, 2.0 if ord is None else ord, dim, keepdim, dtype=dtype)
