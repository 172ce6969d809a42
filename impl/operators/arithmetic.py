"""Addition, multiplication and their relatives."""

from __future__ import annotations

import numpy as np

from impl.operator import TAPED, Array, formula_operation, function, operator
from impl.tensor import Tensor


def conj_of(F, value):
    """The conjugate of a complex value, anything else as it is."""
    if isinstance(value, (bool, int, float)):
        return value
    if isinstance(value, complex):
        return value.conjugate()
    return F.conj(value)


@formula_operation
def conj(value):
    return np.conj(value) if value.dtype.kind == "c" else value


TAPED.conj = lambda value: value.conj() if value.is_complex() else value


@operator(promote="arithmetic", elementwise=True, inplace=True, out=True)
def mul(self: Array, other: Array) -> Array:
    """The product; shapes broadcast, dtypes promote (torch.mul)."""
    return np.multiply(self, other)


mul.gradient(
    self=lambda F, grad, other: grad * conj_of(F, other),
    other=lambda F, grad, self: grad * conj_of(F, self),
)


@operator(promote="arithmetic", elementwise=True, inplace=True, out=True)
def add(self: Array, other: Array, *, alpha=1) -> Array:
    """self + alpha * other; shapes broadcast, dtypes promote (torch.add)."""
    return self + other if alpha == 1 else self + alpha * other


add.gradient(
    self=lambda F, grad: grad,
    other=lambda F, grad, alpha: grad if alpha == 1 else grad * conj_of(F, alpha),
)

Tensor.__mul__ = Tensor.__rmul__ = lambda self, other: mul(self, other)
Tensor.__add__ = Tensor.__radd__ = lambda self, other: add(self, other, 1)
