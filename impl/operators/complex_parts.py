"""Complex numbers: conjugates, real and imaginary parts, and numbers made from both."""

from __future__ import annotations

import numpy as np

from impl.dtypes import BY_NUMPY
from impl.operator import Array, function, operator
from impl.tensor import Tensor


@operator(function=False, method=False, node="ConjBackward0", elementwise=True)
def conj_complex(self: Array) -> Array:
    return np.conj(self)


conj_complex.gradient(self=lambda F, grad: F.conj_complex(grad))


@function("conj")
def conj(input):
    """The complex conjugate; a real tensor is returned as it is (torch.conj).

    A copy, where torch makes a view that is conjugated when read.
    """
    return conj_complex(input) if input.is_complex() else input


@operator(function=False, method=False, node="RealBackward0", elementwise=True)
def real_part(self: Array) -> Array:
    return np.real(self).copy()


@operator(function=False, method=False, node="ImagBackward0", elementwise=True)
def imaginary_part(self: Array) -> Array:
    return np.imag(self).copy()


@operator(function=False, method=False, node="ComplexBackward0", elementwise=True)
def complex_of(real: Array, imag: Array) -> Array:
    target = np.complex128 if real.dtype == np.float64 else np.complex64
    result = np.empty(np.broadcast_shapes(real.shape, imag.shape), target)
    result.real, result.imag = real, imag
    return result


real_part.gradient(self=lambda F, grad: F.complex_of(grad, F.zeros_like(grad)))
imaginary_part.gradient(self=lambda F, grad: F.complex_of(F.zeros_like(grad), grad))
complex_of.gradient(
    real=lambda F, grad: F.real_part(grad), imag=lambda F, grad: F.imaginary_part(grad)
)


def real(input):
    """The real part; a real tensor is returned as it is (torch.real)."""
    return real_part(input) if input.is_complex() else input


def imag(input):
    """The imaginary part (torch.imag). Raises RuntimeError for a real tensor."""
    if not input.is_complex():
        raise RuntimeError("imag is not implemented for tensors with non-complex dtypes.")
    return imaginary_part(input)


for _part in (real, imag):
    function(_part.__name__, method=False)(_part)
    setattr(Tensor, _part.__name__, property(_part))


@function("complex", method=False)
def complex_(real, imag, *, out=None):
    """Complex numbers from their parts (torch.complex).

    Raises RuntimeError unless both are of the same floating dtype.
    """
    first, second = (BY_NUMPY[t._raw.dtype] for t in (real, imag))
    if first is not second:
        raise RuntimeError(
            f"Expected object of scalar type {first.legacy} but got scalar type {second.legacy} "
            "for second argument"
        )
    return complex_of(real, imag)


@function()
def resolve_conj(input):
    """The tensor itself: conjugation is never put off here (torch.resolve_conj)."""
    return input


@function()
def resolve_neg(input):
    """The tensor itself: negation is never put off here (torch.resolve_neg)."""
    return input


__all__ = ["conj", "imag", "real"]
