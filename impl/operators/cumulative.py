"""Running sums and products, and the running log-sum-exp.

A running sum's gradient is the running sum from the other end (torch's cumsum_backward); a running
product's divides by the element, or multiplies the others out where an element is zero
(cumprod_backward); logcumsumexp's splits the gradient by sign and stays in logarithms.
"""

from __future__ import annotations

import ml_dtypes
import numpy as np

from impl import inplace
from impl.dimensions import wrap_dim
from impl.dtypes import BY_NUMPY, INTEGRAL
from impl.operator import RAW, TAPED, Array, formula_operation, function, new, operator
from impl.operators.reductions import accumulate
from impl.precision import widened
from impl.refusals import refuse_bool, refuse_integers
from impl.tensor import requires_grad


def _working(raw, dtype):
    """The array in the dtype of the result; integers count in int64."""
    if dtype is not None:
        return raw.astype(dtype.numpy)
    return raw.astype(np.int64) if BY_NUMPY[raw.dtype].category <= INTEGRAL else raw


def _running(ufunc, raw, dim: int, dtype):
    raw = np.asarray(_working(raw, dtype))
    dim = wrap_dim(dim, raw.ndim)
    if not raw.ndim:
        return raw.copy()[()]
    wide = widened(raw)
    return np.ascontiguousarray(ufunc.accumulate(wide, axis=dim)).astype(raw.dtype)


@operator(node="CumsumBackward0", function=False, method=False)
def cumsum_along(self: Array, dim, dtype=None) -> Array:
    return _running(np.add, self, dim, dtype)


@operator(node="CumprodBackward0", function=False, method=False)
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
    if F.count_zeros(value):
        return F.cumprod_backward_at_zeros(grad, F.conj(value), dim, F.conj(result))
    return _reversed_cumsum(F, F.conj(result) * grad, dim) / F.conj(value)


@formula_operation
def cumprod_backward_at_zeros(grad, value, dim, result):
    """In linear time: as elsewhere before a row's first zero; at it, by the products without it.

    The products behind it are all zero up to the second zero and beyond, whatever the row holds.
    """
    kind = value.dtype.type
    seen = np.cumsum(value == 0, dim)
    before = seen == 0
    weighted = np.where(before, result * grad, kind(0))
    gradient = np.where(before, _reversed_cumsum(RAW, weighted, dim) / value, kind(0))
    since = seen == 1
    first = np.expand_dims(since.argmax(dim), dim)
    place = np.arange(value.shape[dim]).reshape(-1, *(1,) * (value.ndim - dim - 1))
    at_first = (place == first) & since
    rest = RAW.cumprod(np.where(since & ~at_first, value, kind(1)), dim)
    total = accumulate(np.sum, rest * np.where(since, grad, kind(0)), dim, True)
    ahead = np.take_along_axis(result, np.maximum(first - 1, 0), dim)
    return np.where(at_first, total * np.where(first == 0, kind(1), ahead), gradient)


def _cumprod_backward_by_products(grad, value, dim, result):
    """The recorded form: for each element the products that leave it out, weighted and summed."""
    size = value._raw.shape[dim]
    ones = TAPED.ones_like(value.narrow(dim, 0, 1)).detach()
    gradient = TAPED.zeros(value._raw.shape, grad._raw.dtype)
    for k in range(size):
        if k == 0:
            rest = cumprod_along(value.narrow(dim, 1, size - 1), dim, None)
            without = TAPED.cat([ones, rest], dim)
        else:
            before = value.narrow(dim, 0, k).prod(dim, True)
            without = before
            if k < size - 1:
                rest = cumprod_along(value.narrow(dim, k + 1, size - k - 1), dim, None)
                without = TAPED.cat([before, before.expand_as(rest) * rest], dim)
        part = (grad.narrow(dim, k, size - k) * without).sum((dim,))
        gradient.select(dim, k).copy_(part)
    return gradient


TAPED.cumprod_backward_at_zeros = _cumprod_backward_by_products

cumprod_along.gradient(
    self=lambda F, grad, self, dim, result, self_dtype: _cumprod_backward(
        F, F.cast_to(grad, self_dtype), self, dim, result
    )
)


@formula_operation
def cast_to(value, dtype):
    return value if value.dtype == dtype else value.astype(dtype)


TAPED.cast_to = lambda value, dtype: (
    value if value._raw.dtype == dtype else value.to(BY_NUMPY[dtype])
)


def _cumprod_tangent(F, tangent, value, result, dim):
    # Up to a row's first zero the sum of the relative changes, which divides by no zero; from there
    # on the products with the zero's tangent in its place, for all others have the zero in them.
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


@operator(node="LogcumsumexpBackward0", function=False, method=False)
def logcumsumexp_along(self: Array, dim) -> Array:
    raw = np.asarray(self)
    dim = wrap_dim(dim, raw.ndim)
    refuse_integers(raw, "logcumsumexp_out_cpu")
    if not raw.ndim:
        return raw.copy()[()]
    if raw.dtype.kind == "c":
        return _complex_logcumsumexp(raw, dim)
    wide = widened(raw)
    return np.ascontiguousarray(np.logaddexp.accumulate(wide, axis=dim)).astype(raw.dtype)


def _complex_logcumsumexp(raw, dim: int):
    result = np.array(raw, order="C")
    rows = np.moveaxis(result, dim, 0)
    for i in range(1, len(rows)):
        rows[i] = RAW.logaddexp(rows[i - 1], rows[i])
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


def _logcumsumexp_tangent(F, tangent, value, dim):
    if value.ndim == 0 or F.numel(value) == 0:
        return tangent
    exponentials = F.exp(value - F.amax_dim(value, (dim,), True))
    return F.cumsum_along(exponentials * tangent, dim) / F.cumsum_along(exponentials, dim)


logcumsumexp_along.forward(
    lambda F, self_t, self, dim: F.rewritten(_logcumsumexp_tangent(F, self_t, self, dim))
)


@formula_operation
def lowest_like(value):
    """The most negative number of the value's dtype, 0-dim; finite, so that it can be subtracted
    from minus infinity."""
    return value.dtype.type(ml_dtypes.finfo(value.dtype).min)


TAPED.lowest_like = lambda value: new(lowest_like(value._raw))


# -- how torch spells them --------------------------------------------------------------------


@function(out=True)
def cumsum(input, dim, *, dtype=None):
    """The running sum along `dim`; integers sum as int64 (torch.cumsum).

    Raises IndexError for a dimension out of range.
    """
    return cumsum_along(input, dim, dtype)


@function(out=True)
def cumprod(input, dim, *, dtype=None):
    """The running product along `dim`; integers multiply as int64 (torch.cumprod).

    Raises IndexError for a dimension out of range.
    """
    return cumprod_along(input, dim, dtype)


@function(out=True)
def logcumsumexp(input, dim):
    """log(cumsum(exp(x))), computed stably (torch.logcumsumexp).

    Raises IndexError for a dimension out of range, NotImplementedError for integers.
    """
    return logcumsumexp_along(input, dim)


RAW.cumsum = lambda value, dim: RAW.cumsum_along(value, dim)
RAW.cumprod = lambda value, dim: RAW.cumprod_along(value, dim)
TAPED.cumsum, TAPED.cumprod = cumsum, cumprod


def _check_written_dtype(name: str, target, dim, dtype):
    """The dtype to accumulate in. Raises RuntimeError unless it is the target's own."""
    inplace.check(target, requires_grad(target))
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
    """The running sum, written in place (torch.Tensor.cumsum_)."""
    return cumsum_along.inplace(self, dim, _check_written_dtype("cumsum", self, dim, dtype))


@function(torch=False)
def cumprod_(self, dim, *, dtype=None):
    """The running product, written in place (torch.Tensor.cumprod_)."""
    return cumprod_along.inplace(self, dim, _check_written_dtype("cumprod", self, dim, dtype))
