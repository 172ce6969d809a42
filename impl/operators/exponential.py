"""Exponentials and logarithms."""

from __future__ import annotations

import math

import numpy as np

from impl.operator import TAPED, Array, formula_operation, operator
from impl.overloads import of_numbers, publish
from impl.precision import rounded_once
from impl.refusals import refuse_integers


@operator(promote="float", elementwise=True, inplace=True, out=True)
def exp(self: Array) -> Array:
    """e ** self (torch.exp)."""
    return np.exp(self)


@operator(promote="float", elementwise=True, inplace=True, out=True)
def exp2(self: Array) -> Array:
    """2 ** self (torch.exp2)."""
    return np.exp2(self)


@operator(promote="float", elementwise=True, inplace=True, out=True)
def expm1(self: Array) -> Array:
    """e ** self - 1, exact near 0 (torch.expm1)."""
    return np.expm1(self)


exp.gradient(self=lambda F, grad, result_conj: grad * result_conj)
exp2.gradient(self=lambda F, grad, result_conj: F.mul_scalar(grad * result_conj, math.log(2)))
expm1.gradient(self=lambda F, grad, result_conj: grad * F.add_scalar(result_conj, 1))


@operator(promote="float", elementwise=True, inplace=True, out=True)
def log(self: Array) -> Array:
    """The natural logarithm; NaN below zero (torch.log)."""
    return np.log(self)


@operator(promote="float", elementwise=True, inplace=True, out=True)
def log2(self: Array) -> Array:
    """The logarithm to base 2 (torch.log2)."""
    return np.log2(self)


@operator(promote="float", elementwise=True, inplace=True, out=True)
def log10(self: Array) -> Array:
    """The logarithm to base 10 (torch.log10)."""
    return np.log10(self)


@operator(node="Log1PBackward0", promote="float", elementwise=True, inplace=True, out=True)
def log1p(self: Array) -> Array:
    """log(1 + self), exact near 0 (torch.log1p)."""
    return np.log1p(self)


log.gradient(self=lambda F, grad, self_conj: grad / self_conj)
log2.gradient(self=lambda F, grad, self_conj: grad / F.mul_scalar(self_conj, math.log(2)))
log10.gradient(self=lambda F, grad, self_conj: grad / F.mul_scalar(self_conj, math.log(10)))
log1p.gradient(self=lambda F, grad, self: grad / F.conj(F.add_scalar(self, 1)))


@operator(promote="arithmetic", elementwise=True, out=True, numbers=False)
@rounded_once
def logaddexp(self: Array, other: Array) -> Array:
    """log(exp(self) + exp(other)) without overflow (torch.logaddexp)."""
    return _log_of_sum(self, other, np.exp, np.log1p, "logaddexp_cpu")


@operator(promote="arithmetic", elementwise=True, out=True, numbers=False)
@rounded_once
def logaddexp2(self: Array, other: Array) -> Array:
    """log2(2 ** self + 2 ** other) without overflow (torch.logaddexp2)."""
    return _log_of_sum(self, other, np.exp2, lambda x: np.log1p(x) / math.log(2), "logaddexp2_cpu")


def _log_of_sum(a, b, power, log1p, kernel: str):
    refuse_integers(a, kernel)
    if a.dtype.kind == "c":
        return _log_of_complex_sum(a, b)
    largest = np.maximum(a, b)
    with_rest = largest + log1p(power(-np.abs(a - b)))
    return np.where(np.isinf(a) & (a == b), a, with_rest).astype(a.dtype)


def _log_of_complex_sum(a, b):
    largest, least = np.where(a.real < b.real, b, a), np.where(a.real < b.real, a, b)
    return largest + np.log1p(np.exp(least - largest))


logaddexp.gradient(
    self=lambda F, grad, self, other: grad / F.conj(F.add_scalar(F.exp(other - self), 1)),
    other=lambda F, grad, self, other: grad / F.conj(F.add_scalar(F.exp(self - other), 1)),
)
logaddexp.forward(
    lambda F, self_t, self, other_t, other: (
        self_t / F.add_scalar(F.exp(other - self), 1)
        + other_t / F.add_scalar(F.exp(self - other), 1)
    )
)
logaddexp2.gradient(
    self=lambda F, grad, self, other: grad / F.add_scalar(F.power_of_two(other - self), 1),
    other=lambda F, grad, self, other: grad / F.add_scalar(F.power_of_two(self - other), 1),
)
logaddexp2.forward(
    lambda F, self_t, self, other_t, other: (
        self_t / F.add_scalar(F.power_of_two(other - self), 1)
        + other_t / F.add_scalar(F.power_of_two(self - other), 1)
    )
)


# -- x log y -----------------------------------------------------------------------------------


def _xlogy(x, y):
    # Half and bfloat16 round the logarithm, too.
    dtype = x.dtype if hasattr(x, "dtype") else y.dtype
    if getattr(y, "dtype", None) != dtype:
        y = np.asarray(y).astype(dtype)[()]
    product = (x * np.log(y)).astype(dtype)
    return np.where(np.isnan(y), y, np.where(x == 0, dtype.type(0), product))


@operator(promote="float", elementwise=True, function=False, method=False)
def xlogy(self: Array, other: Array) -> Array:
    return _xlogy(self, other)


@operator(node="XlogyBackward1", promote="float", elementwise=True, function=False, method=False)
def xlogy_of_scalar(self: Array, other: Array) -> Array:
    return _xlogy(self, other)


@operator(node="XlogyBackward2", promote="float", elementwise=True, function=False, method=False)
def xlogy_scalar(self: Array, other: Array) -> Array:
    return _xlogy(self, other)


def _of_factor(F, grad, self, other):
    return F.masked_fill(F.xlogy(grad, other), (self == 0) & (other <= 0), 0.0)


def _of_factor_by_number(F, grad, self, other):
    slope = F.xlogy_number(grad, other)
    return slope if other > 0 else F.masked_fill(slope, self == 0, 0.0)


@formula_operation
def xlogy_number(x, y):
    return _xlogy(x, x.dtype.type(y))


TAPED.xlogy_number = lambda x, y: xlogy_scalar(x, y)

xlogy.gradient(self=_of_factor, other=lambda F, grad, self, other: grad * self / other)
xlogy.forward(
    lambda F, self_t, self, other_t, other: (
        _of_factor(F, self_t, self, other) + other_t * self / other
    )
)
xlogy_scalar.gradient(self=_of_factor_by_number)
xlogy_of_scalar.gradient(other=lambda F, grad, self, other: F.mul_scalar(grad, self) / other)


publish(
    "xlogy",
    xlogy,
    xlogy_scalar,
    xlogy_of_scalar,
    refuse=lambda input, other: of_numbers("xlogy", input, other),
    doc="input * log(other), and 0 where input is 0 and other no NaN (torch.xlogy).",
)
