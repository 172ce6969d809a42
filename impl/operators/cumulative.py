"""Running sums and products, and the running log-sum-exp.

A running sum's gradient is the running sum from the other end (torch's cumsum_backward); a running
product's divides by the element, or multiplies the others out where an element is zero
(cumprod_backward); logcumsumexp's splits the gradient by sign and stays in logarithms.
"""

from __future__ import annotations

import numpy as np

from impl.dimensions import wrap_dim
from impl.dtypes import BY_NUMPY, INTEGRAL, REDUCED
from impl.operator import TAPED, Array, formula_operation, function, new, operator
from impl.operators.arithmetic import conj_of


def _working(raw, dtype):
    """The array in the dtype of the result; integers count in int64."""
    if dtype is not None:
        return raw.astype(dtype.numpy)
    return raw.astype(np.int64) if BY_NUMPY[raw.dtype].category <= INTEGRAL else raw


def _running(ufunc, raw, dim: int, dtype, name: str):
    raw = np.asarray(_working(raw, dtype))
    dim = wrap_dim(dim, raw.ndim)
    if not raw.ndim:
        return raw.copy()[()]
    wide = raw.astype(np.float32) if raw.dtype in REDUCED else raw
    return np.ascontiguousarray(ufunc.accumulate(wide, axis=dim)).astype(raw.dtype)


@operator(node="CumsumBackward0", function=False, method=False)
def cumsum_along(self: Array, dim, dtype=None) -> Array:
    return _running(np.add, self, dim, dtype, "cumsum")


@operator(node="CumprodBackward0", function=False, method=False)
def cumprod_along(self: Array, dim, dtype=None) -> Array:
    return _running(np.multiply, self, dim, dtype, "cumprod")


def _reversed_cumsum(F, value, dim):
    if F.numel(value) <= 1 or value.shape[dim] == 1:
        return value
    return F.flip(F.cumsum_along(F.flip(value, (dim,)), dim), (dim,))


cumsum_along.gradient(
    self=lambda F, grad, dim, self_dtype: _reversed_cumsum(F, F.cast_to(grad, self_dtype), dim)
)


def _cumprod_backward(F, grad, value, dim, result):
    if F.numel(value) <= 1:
        return grad
    dim = wrap_dim(dim, value.ndim)
    if value.shape[dim] == 1:
        return grad
    if F.has_zero(value):
        return _cumprod_backward_by_products(F, grad, value, dim)
    return _reversed_cumsum(F, conj_of(F, result) * grad, dim) / conj_of(F, value)


def _cumprod_backward_by_products(F, grad, value, dim):
    """Without division: for each element the products that leave it out, weighted and summed."""
    size = value.shape[dim]
    ones = F.ones_like(F.narrow(value, dim, 0, 1))
    columns = []
    for k in range(size):
        if k == 0:
            rest = F.cumprod_along(F.narrow(value, dim, 1, size - 1), dim)
            without = F.cat([ones, rest], dim)
        elif k == size - 1:
            without = F.prod_dim(F.narrow(value, dim, 0, k), dim, True)
        else:
            before = F.prod_dim(F.narrow(value, dim, 0, k), dim, True)
            rest = F.cumprod_along(F.narrow(value, dim, k + 1, size - k - 1), dim)
            without = F.cat([before, F.expand(before, rest.shape) * rest], dim)
        columns.append(F.sum_dim(F.narrow(grad, dim, k, size - k) * without, (dim,)))
    return F.filled_along(grad, columns, dim)


cumprod_along.gradient(
    self=lambda F, grad, self, dim, result, self_dtype: _cumprod_backward(
        F, F.cast_to(grad, self_dtype), self, dim, result
    )
)


@formula_operation
def filled_along(like, columns, dim):
    """An array with one given array at each position of `dim`."""
    return np.stack(columns, dim)


def _filled_along_tensors(like, columns, dim):
    result = like.new_zeros(like._raw.shape)
    for i, column in enumerate(columns):
        result.select(dim, i).copy_(column)
    return result


TAPED.filled_along = _filled_along_tensors


@formula_operation
def cast_to(value, dtype):
    return value if value.dtype == dtype else value.astype(dtype)


TAPED.cast_to = lambda value, dtype: (
    value if value._raw.dtype == dtype else value.to(BY_NUMPY[dtype])
)


# -- log-sum-exp ------------------------------------------------------------------------------


@operator(node="LogcumsumexpBackward0", function=False, method=False)
def logcumsumexp_along(self: Array, dim) -> Array:
    raw = np.asarray(self)
    dim = wrap_dim(dim, raw.ndim)
    if BY_NUMPY[raw.dtype].category <= INTEGRAL:
        raise NotImplementedError(
            f'"logcumsumexp_out_cpu" not implemented for \'{BY_NUMPY[raw.dtype].legacy}\''
        )
    if not raw.ndim:
        return raw.copy()[()]
    wide = raw.astype(np.float32) if raw.dtype in REDUCED else raw
    return np.ascontiguousarray(np.logaddexp.accumulate(wide, axis=dim)).astype(raw.dtype)


def _reversed_logcumsumexp(F, value, dim):
    return F.flip(F.logcumsumexp_along(F.flip(value, (dim,)), dim), (dim,))


def _logcumsumexp_backward(F, grad, value, result, dim):
    if value.ndim == 0 or F.numel(value) == 0:
        return grad
    dim = wrap_dim(dim, value.ndim)
    size = F.log(F.abs(grad))
    low = F.constant_like(size, -np.inf)
    parts = []
    for sign in (grad > 0, grad < 0):
        logarithm = F.where(sign, size, low)
        parts.append(F.exp(_reversed_logcumsumexp(F, logarithm - result, dim) + value))
    return parts[0] - parts[1]


logcumsumexp_along.gradient(
    self=lambda F, grad, self, result, dim: _logcumsumexp_backward(F, grad, self, result, dim)
)


@formula_operation
def constant_like(value, number):
    """A 0-dim constant of the value's dtype."""
    return value.dtype.type(number)


TAPED.constant_like = lambda value, number: new(value._raw.dtype.type(number))


# -- how torch spells them --------------------------------------------------------------------


@function()
def cumsum(input, dim, *, dtype=None):
    """The running sum along `dim`; integers sum as int64 (torch.cumsum).

    Raises IndexError for a dimension out of range.
    """
    return cumsum_along(input, dim, dtype)


@function()
def cumprod(input, dim, *, dtype=None):
    """The running product along `dim`; integers multiply as int64 (torch.cumprod).

    Raises IndexError for a dimension out of range.
    """
    return cumprod_along(input, dim, dtype)


@function()
def logcumsumexp(input, dim):
    """log(cumsum(exp(x))), computed stably (torch.logcumsumexp).

    Raises IndexError for a dimension out of range, NotImplementedError for integers.
    """
    return logcumsumexp_along(input, dim)


@function(torch=False)
def cumsum_(self, dim, *, dtype=None):
    """The running sum, written in place (torch.Tensor.cumsum_)."""
    return cumsum_along.inplace(self, dim, dtype or self.dtype)


@function(torch=False)
def cumprod_(self, dim, *, dtype=None):
    """The running product, written in place (torch.Tensor.cumprod_)."""
    return cumprod_along.inplace(self, dim, dtype or self.dtype)
