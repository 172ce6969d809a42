"""Exponentials and logarithms."""

from __future__ import annotations

import math

import numpy as np

from impl.core.warning import warn_after_pass
from impl.dispatch.definition import Array, operator
from impl.dispatch.facts import NoComplex
from impl.dispatch.not_implemented import refuse_integers
from impl.kernels.reduced_precision import rounded_once
from impl.operators.pointwise.unary import unary

exp = unary("exp", np.exp, "e ** self")
exp2 = unary("exp2", np.exp2, "2 ** self")
expm1 = unary("expm1", np.expm1, "e ** self - 1, exact near 0")
exp.gradient(self=lambda F, grad, result_conj: grad * result_conj)
exp2.gradient(self=lambda F, grad, result_conj: F.mul_scalar(grad * result_conj, math.log(2)))
expm1.gradient(self=lambda F, grad, result_conj: grad * F.add_scalar(result_conj, 1))


log = unary("log", np.log, "The natural logarithm; NaN below zero")
log2 = unary("log2", np.log2, "The logarithm to base 2")
log10 = unary("log10", np.log10, "The logarithm to base 10")


def _log1p(value: np.ndarray) -> np.ndarray:
    """log(1 + value); both parts are NaN where one of a complex number is."""
    result = np.log1p(value)
    return np.where(np.isnan(value), np.nan * value, result) if value.dtype.kind == "c" else result


log1p = unary("log1p", _log1p, "log(1 + self), exact near 0", node="Log1PBackward0")
log.gradient(self=lambda F, grad, self_conj: grad / self_conj)
log2.gradient(self=lambda F, grad, self_conj: grad / F.mul_scalar(self_conj, math.log(2)))
log10.gradient(self=lambda F, grad, self_conj: grad / F.mul_scalar(self_conj, math.log(10)))


def _log1p_backward(F, grad, self):
    if getattr(self, "is_sparse", False):
        return _log1p_backward_sparse(F, grad, self)
    return grad / F.conj(F.add_scalar(self, 1))


def _log1p_backward_sparse(F, grad, self):
    """Of a sparse tensor the divisor is dense; a sparse gradient can only be multiplied by its
    reciprocal. Warns of the memory that this takes."""
    warn_after_pass(
        "log1p_backward: received self with sparse layout, but backward requires materialization "
        "of a dense tensor with this shape"
    )
    divisor = F.conj(F.add_scalar(self.to_dense(), 1))
    return grad * divisor.reciprocal() if grad.is_sparse else grad / divisor


log1p.gradient(self=_log1p_backward)


@operator(promote="arithmetic", elementwise=True, out=True, numbers=False)
@rounded_once
def logaddexp(self: Array, other: Array) -> Array:
    """log(exp(self) + exp(other)) without overflow (torch.logaddexp)."""
    return _log_of_sum(self, other, np.exp, np.log1p, "logaddexp_cpu")


@operator(
    promote="arithmetic",
    elementwise=True,
    out=True,
    numbers=False,
    complex=NoComplex("logaddexp2_cpu"),
)
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
    result = largest + np.log1p(np.exp(least - largest))
    infinite = np.isinf(a.real) & (a.real == b.real)
    if infinite.any():  # where the difference is NaN
        limit = np.where(a.real < 0, least, np.log(np.exp(least) + np.exp(largest)))
        result = np.where(infinite & ~np.isnan(least), limit, result)
    return result


logaddexp.gradient(
    self=lambda F, grad, self, other: (
        grad / F.conj(F.add_scalar(F.exp(F.difference(other, self)), 1))
    ),
    other=lambda F, grad, self, other: (
        grad / F.conj(F.add_scalar(F.exp(F.difference(self, other)), 1))
    ),
)
logaddexp.forward(
    lambda F, self_t, self, other_t, other: (
        self_t / F.add_scalar(F.exp(F.difference(other, self)), 1)
        + other_t / F.add_scalar(F.exp(F.difference(self, other)), 1)
    )
)
logaddexp2.gradient(
    self=lambda F, grad, self, other: (
        grad / F.add_scalar(F.power_of_two(F.difference(other, self)), 1)
    ),
    other=lambda F, grad, self, other: (
        grad / F.add_scalar(F.power_of_two(F.difference(self, other)), 1)
    ),
)
logaddexp2.forward(
    lambda F, self_t, self, other_t, other: (
        self_t / F.add_scalar(F.power_of_two(F.difference(other, self)), 1)
        + other_t / F.add_scalar(F.power_of_two(F.difference(self, other)), 1)
    )
)
