"""Cumulative sums, products and log-sum-exp: cumsum, cumprod, logcumsumexp.

The gradient of cumsum is the cumulative sum from the other end (torch's cumsum_backward). That of
cumprod divides by the elements, or multiplies the other elements where one is zero
(cumprod_backward). That of logcumsumexp splits the gradient by sign and stays in logarithms.
"""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np

from impl.core import messages
from impl.core.dims import wrap_dim
from impl.core.dtypes import BY_NUMPY, INTEGRAL, bool_
from impl.core.meta_arrays import MetaArray
from impl.core.registry import FUNCTIONS, array_ops, tensor_ops
from impl.core.warning import warn_once
from impl.dispatch.definition import Array, formula_operation, function, operator
from impl.dispatch.not_implemented import (
    not_implemented,
    refuse_bool,
    refuse_integer_result,
    refuse_integers,
)
from impl.dispatch.out import fill_out, named_out, stored_elementwise, typed_out, working_dtype
from impl.dispatch.record import check_write
from impl.kernels.casting import discards
from impl.kernels.reduced_precision import widened
from impl.operators.pointwise.arithmetic import add_scalar
from impl.operators.reductions.extrema import copies_single
from impl.operators.reductions.reductions import accumulate, in_dtype
from impl.tensor.memory_overlap import check_memory
from impl.tensor.tensor import new


def _working(raw, dtype):
    """The array in the dtype of the result: `dtype`, or int64 for integers."""
    if dtype is not None:
        return in_dtype(raw, dtype)
    return raw.astype(np.int64) if BY_NUMPY[raw.dtype].category <= INTEGRAL else raw


# In which running sums and products are kept (ATen's acc_type on the CPU), if not in their own.
_ACCUMULATED = {np.dtype(np.float32): np.float64, np.dtype(np.complex64): np.complex128}


def _running(ufunc, raw, dim: int, dtype):
    raw = np.asarray(_working(raw, dtype))
    dim = wrap_dim(dim, raw.ndim)
    if not raw.ndim:
        return raw.copy()[()]
    wide = widened(raw)
    if ufunc is np.add and wide.dtype.kind in "fc":
        wide = wide + 0  # where torch begins: no sum is a negative zero
    running = ufunc.accumulate(wide, axis=dim, dtype=_ACCUMULATED.get(raw.dtype))
    return np.ascontiguousarray(running).astype(raw.dtype)


_HIDDEN: dict[str, Any] = {"function": False, "method": False, "batching": "dims"}


def _writes(args) -> int:
    """A single number fills the result, which is set to zero if it has no elements."""
    raw = args[0]._raw
    return int(not (raw.ndim and raw.size))


@operator(node="CumsumBackward0", writes=_writes, copies=copies_single, **_HIDDEN)
def cumsum_along(self: Array, dim, dtype=None) -> Array:
    return _running(np.add, self, dim, dtype)


@operator(node="CumprodBackward0", writes=_writes, copies=copies_single, **_HIDDEN)
def cumprod_along(self: Array, dim, dtype=None) -> Array:
    return _running(np.multiply, self, dim, dtype)


def _reversed_cumsum(F, value, dim):
    if F.numel(value) <= 1 or value.shape[dim] == 1:
        return value
    return F.flip(F.cumsum_along(F.flip(value, (dim,)), dim), (dim,))


cumsum_along.gradient(
    self=lambda F, grad, dim, self_dtype: _reversed_cumsum(F, F.cast_to(grad, self_dtype), dim)
)
cumsum_along.forward("linear")


def _cumprod_backward(F, grad, value, dim, result):
    if F.numel(value) <= 1:
        return grad
    dim = wrap_dim(dim, value.ndim)
    if value.shape[dim] == 1:
        return grad
    if F.is_subclass_like(value, grad, result) or F.count_zeros(value):
        return F.cumprod_backward_at_zeros(grad, F.conj(value), dim, F.conj(result))
    return _reversed_cumsum(F, F.conj(result) * grad, dim) / F.conj(value)


@formula_operation
def cumprod_backward_at_zeros(grad, value, dim, result):
    """The gradient of cumprod for rows with zeros, in linear time.

    Before a row's first zero the usual formula holds. At it, the derivatives are the products
    without it, up to the second zero. Behind it every product contains a zero: no gradient.
    """
    kind = value.dtype.type
    seen = np.cumsum(value == 0, dim)
    before = seen == 0
    weighted = np.where(before, result * grad, kind(0))
    gradient = np.where(before, _reversed_cumsum(array_ops, weighted, dim) / value, kind(0))
    since = seen == 1
    first = np.expand_dims(since.argmax(dim), dim)
    place = np.arange(value.shape[dim]).reshape(-1, *(1,) * (value.ndim - dim - 1))
    at_first = (place == first) & since
    rest = array_ops.cumprod(np.where(since & ~at_first, value, kind(1)), dim)
    total = accumulate(np.sum, rest * np.where(since, grad, kind(0)), dim, True)
    ahead = np.take_along_axis(result, np.maximum(first - 1, 0), dim)
    return np.where(at_first, total * np.where(first == 0, kind(1), ahead), gradient)


def _cumprod_backward_by_products(grad, value, dim, result):
    """The form under create_graph and in transforms: for each element the sum of the gradients,
    weighted by the products without that element."""
    size = value._raw.shape[dim]
    ones = tensor_ops.ones_like(value.narrow(dim, 0, 1)).detach()
    parts = []
    for k in range(size):
        if k == 0:
            rest = cumprod_along(value.narrow(dim, 1, size - 1), dim, None)
            without = tensor_ops.cat([ones, rest], dim)
        else:
            before = value.narrow(dim, 0, k).prod(dim, True)
            without = before
            if k < size - 1:
                rest = cumprod_along(value.narrow(dim, k + 1, size - k - 1), dim, None)
                without = tensor_ops.cat([before, before.expand_as(rest) * rest], dim)
        parts.append((grad.narrow(dim, k, size - k) * without).sum((dim,)))
    if tensor_ops.is_subclass_like(value, grad, result):
        return tensor_ops.stack(parts, dim)
    gradient = tensor_ops.zeros(value._raw.shape, grad._raw.dtype)
    for k, part in enumerate(parts):
        gradient.select(dim, k).copy_(part)
    return gradient


tensor_ops.cumprod_backward_at_zeros = _cumprod_backward_by_products

cumprod_along.gradient(
    self=lambda F, grad, self, dim, result, self_dtype: _cumprod_backward(
        F, F.cast_to(grad, self_dtype), self, dim, result
    )
)


@formula_operation
def cast_to(value, dtype):
    if value.dtype == dtype:
        return value
    if discards(value.dtype, dtype):
        warn_once(messages.DISCARDED)
        value = value.real
    return value.astype(dtype)


tensor_ops.cast_to = lambda value, dtype: (
    value if value._raw.dtype == dtype else value.to(BY_NUMPY[dtype])
)


def _cumprod_tangent(F, tangent, value, result, dim):
    # Before a row's first zero: the cumulative sum of the relative tangents, times the product.
    # From the zero on: the products with the zero's tangent in its place, as all other terms of
    # the product rule contain the zero.
    zero = value == 0
    relative = F.cumsum_along(tangent / value, dim) * result
    if value.ndim == 0:
        return relative.masked_fill_(zero, tangent)
    first = zero & (F.cumsum_along(zero, dim) == 1)
    through_zero = F.cumprod_along(F.where(first, tangent, value), dim)
    return F.where(F.cumsum_along(first, dim) != 0, through_zero, relative)


cumprod_along.forward(
    lambda F, self_t, self, result, dim: F.cast_to(
        _cumprod_tangent(F, self_t, self, result, dim), result._raw.dtype
    )
)


# -- log-sum-exp ------------------------------------------------------------------------------


@operator(
    node="LogcumsumexpBackward0",
    writes=lambda args: not args[0]._raw.ndim,
    copies=copies_single,
    **_HIDDEN,
)
def logcumsumexp_along(self: Array, dim) -> Array:
    raw = np.asarray(self)
    dim = wrap_dim(dim, raw.ndim)
    refuse_integers(raw, "logcumsumexp_out_cpu")
    if not raw.ndim:
        return raw.copy()[()]
    if raw.dtype.kind == "c":
        return _complex_logcumsumexp(raw, dim)
    wide = widened(raw) + 0  # as of sums
    running = np.logaddexp.accumulate(wide, axis=dim, dtype=_ACCUMULATED.get(raw.dtype))
    return np.ascontiguousarray(running).astype(raw.dtype)


def _complex_logcumsumexp(raw, dim: int):
    result = np.array(raw, order="C")
    rows = np.moveaxis(result, dim, 0)
    total = np.full(rows.shape[1:], -np.inf, raw.dtype)
    for i, row in enumerate(rows):
        rows[i] = total = array_ops.logaddexp(row, total)
    return result


def _reversed_logcumsumexp(F, value, dim):
    return F.flip(F.logcumsumexp_along(F.flip(value, (dim,)), dim), (dim,))


def _logcumsumexp_backward(F, grad, value, result, dim):
    if value.ndim == 0 or F.numel(value) == 0:
        return grad
    dim = wrap_dim(dim, value.ndim)
    if F.is_complex(grad):
        logarithm = F.log(F.conj(grad)) - result
        return F.conj_view(F.exp(_reversed_logcumsumexp(F, logarithm, dim) + value))
    size = F.log(F.abs(grad))
    low = F.lowest_like(size)
    parts = []
    for sign in (grad > 0, grad < 0):
        logarithm = F.where(sign, size, low)
        parts.append(F.exp(_reversed_logcumsumexp(F, logarithm - result, dim) + value))
    return parts[0] - parts[1]


logcumsumexp_along.gradient(
    self=lambda F, grad, self, result, dim: _logcumsumexp_backward(F, grad, self, result, dim)
)


_NO_ZERO = 1e-13  # ATen adds it to sums of exponentials, which may all have vanished


def _logcumsumexp_tangent(F, tangent, value, dim):
    """The cumulative sums of exponentials times tangents, over those of the exponentials.

    As in ATen the factor is written over the exponentials, which the graph needs, except where that
    cannot be (logcumsumexp_jvp).
    """
    highest = None if F.is_complex(value) else FUNCTIONS["max"](value, dim, True)[0]
    exponentials = F.exp(value if highest is None else value - highest)
    total = F.cumsum_along(exponentials, dim)
    if F.is_subclass_like(value, tangent) or tangent._is_zerotensor():
        result = F.cumsum_along(exponentials * tangent, dim)
    else:
        result = F.cumsum_along(exponentials.mul_(tangent), dim)
    return result.div_(add_scalar.inplace(total, _NO_ZERO))


logcumsumexp_along.forward(lambda F, self_t, self, dim: _logcumsumexp_tangent(F, self_t, self, dim))


@formula_operation
def lowest_like(value):
    """The lowest finite number of the value's dtype, 0-dim; in place of log(0), because minus
    infinity minus minus infinity is NaN."""
    return value.dtype.type(ml_dtypes.finfo(value.dtype).min)


tensor_ops.lowest_like = lambda value: new(lowest_like(value._raw))


# -- public functions -------------------------------------------------------------------------


def _check_dtype(name: str, input, dim, dtype) -> None:
    """Raise for a result of bool, and one of integers of a tensor that requires grad."""
    if dtype is not None:
        wrap_dim(dim, input._raw.ndim)
        if dtype is bool_:
            raise not_implemented(f"{name}_out_cpu", dtype)
        refuse_integer_result(input, dtype)


def _accumulated(op, name: str, input, dim, dtype, out):
    """The result of `cumsum` or `cumprod`, in `out=` where that is given."""

    def shape():
        wrap_dim(dim, input._raw.ndim)
        return input._raw.shape

    if out is not None:
        dtype = working_dtype(name, out, dtype, input, shape)
        if dtype is bool_ and not input._raw.size:
            fill_out(out, np.zeros(out._raw.shape, np.bool_))
            return out
    _check_dtype(name, input, dim, dtype)
    return stored_elementwise(name, out, input, op(input, dim, dtype))


@function()
@named_out("cumsum")
def cumsum(input, dim, *, dtype=None, out=None):
    """The cumulative sum along `dim`; integers are summed as int64 (torch.cumsum).

    Raises IndexError for a dimension out of range, NotImplementedError for bool as `dtype`,
    RuntimeError for an integer one if the input requires grad.
    """
    return _accumulated(cumsum_along, "cumsum", input, dim, dtype, out)


@function()
@named_out("cumprod")
def cumprod(input, dim, *, dtype=None, out=None):
    """The cumulative product along `dim`; integers are multiplied as int64 (torch.cumprod).

    Raises IndexError for a dimension out of range, NotImplementedError for bool as `dtype`,
    RuntimeError for an integer one if the input requires grad.
    """
    return _accumulated(cumprod_along, "cumprod", input, dim, dtype, out)


_same_dtype = typed_out("expected scalar_type {0.legacy} but found {1.legacy}")


def _same_dtype_apart(out, input, *rest, **named) -> None:
    """Raise RuntimeError for an `out=` of another dtype, or one that shares memory in part."""
    _same_dtype(out, input)
    check_memory(out, (input,))


@function(out=True, before=_same_dtype_apart)
def logcumsumexp(input, dim):
    """log(cumsum(exp(x))), computed stably (torch.logcumsumexp).

    Raises IndexError for a dimension out of range, NotImplementedError for integers.
    """
    return logcumsumexp_along(input, dim)


array_ops.cumsum = lambda value, dim: array_ops.cumsum_along(value, dim)
array_ops.cumprod = lambda value, dim: array_ops.cumprod_along(value, dim)
tensor_ops.cumsum, tensor_ops.cumprod = cumsum, cumprod


def _check_written_dtype(name: str, target, dim, dtype):
    """The dtype to accumulate in: the target's. Raises RuntimeError if `dtype` is another one."""
    check_write(target)
    wrap_dim(dim, target._raw.ndim)
    own = target.dtype
    if dtype is not None and dtype is not own:
        raise RuntimeError(
            f"Bad in-place call: input tensor dtype {own.c_name} and output tensor dtype "
            f"{dtype.c_name} should match"
        )
    refuse_bool(target._raw, f"{name}_out_cpu")
    return own


@function(torch=False)
def cumsum_(self, dim, *, dtype=None):
    """`cumsum` in place (torch.Tensor.cumsum_)."""
    return cumsum_along.inplace(self, dim, _check_written_dtype("cumsum", self, dim, dtype))


@function(torch=False)
def cumprod_(self, dim, *, dtype=None):
    """`cumprod` in place (torch.Tensor.cumprod_)."""
    return cumprod_along.inplace(self, dim, _check_written_dtype("cumprod", self, dim, dtype))


for _op in (cumsum_along, cumprod_along):
    _op.on_large_meta(
        lambda self, dim, dtype=None: MetaArray(self.shape, self.dtype if dtype is None else dtype)
    )

for _op in (cumsum_along, cumprod_along, logcumsumexp_along):
    _op.copied_by = "fill_tensor_inplace"
