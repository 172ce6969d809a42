"""Fused multiply-add on arrays: a * b + c with one rounding, as torch's compiled kernels have it.

NumPy has no such function. BLAS's axpy is one wherever its library was compiled for processors that
have the instruction. Elsewhere the product and the sum are taken with more precision, and the rare
elements for which a second rounding could matter are computed again.
"""

from __future__ import annotations

import functools
import math
from fractions import Fraction

import numpy as np
from scipy.linalg import blas

_BLOCK = 4096
_SPLITTER = 2.0**27 + 1
_HALF_AN_ULP = 29  # a double whose lowest 29 bits are 1000… lies between two neighbours in float32
_HALFWAY = np.iinfo(np.int64).min
_BEYOND = 1 + 2.0**-40
_FLOAT32, _FLOAT64 = np.dtype(np.float32), np.dtype(np.float64)
_ONE = np.ones(())  # with an array NumPy subtracts sooner than with a number


def fused(a: np.ndarray, b, c, out: np.ndarray | None = None) -> np.ndarray:
    """a * b + c with one rounding, of an array of float32 or float64 and two numbers, in `out` if
    that is given: other memory in one piece, of the same dtype."""
    if out is None:
        out = np.empty_like(a)
    b, c = a.dtype.type(b), a.dtype.type(c)
    if b == 1:
        return np.add(a, c, out=out)
    if b == 0 or c == 0:  # one of product and sum is exact
        np.multiply(a, b, out=out)
        out += c  # makes 0 of -0
    elif a.size and _axpy_rounds_once(a.dtype):
        _axpy(a, b, c, out)
    else:
        out[...] = (_fused_float32 if a.dtype == np.float32 else _fused_float64)(a, b, c)
    return out


def product_plus(a, b, c):
    """a * b + c, broadcast: of float32 with the product exact, as a fused operation has it, and a
    second rounding that is rarely seen; of other dtypes with two roundings."""
    if a.dtype != np.float32:
        return a * b + c
    product = np.multiply(a, b, dtype=np.float64)
    return np.add(c, product, dtype=np.float64).astype(np.float32)


def one_minus_square(a):
    """1 - a * a as `product_plus` computes it, in half the time: of float32 there is one copy in
    float64, which is squared in place."""
    if a.dtype != _FLOAT32:
        return 1 - a * a
    wide = a.astype(_FLOAT64)
    wide *= wide
    return (_ONE - wide).astype(_FLOAT32)


def _axpy(a, b, c, out) -> None:
    out.fill(c)
    (blas.saxpy if a.dtype == np.float32 else blas.daxpy)(a, out, a=b)


@functools.cache
def _axpy_rounds_once(dtype: np.dtype) -> bool:
    """Whether BLAS fuses: tried with as many numbers as go through each of a kernel's loops, whose
    products differ from the sum by less than an ulp."""
    unit = np.finfo(dtype).eps
    a = np.full(127, 1 + unit, dtype)
    result = np.empty_like(a)
    _axpy(a, 1 - unit, -1, result)
    return bool((result == -(unit**2)).all())


def _fused_float32(a, b, c):
    """The product, which is exact, and the sum in float64, rounded to float32: a second rounding
    where the sum is halfway between two neighbours."""
    total = a.astype(np.float64)
    total *= float(b)
    product = total.copy()
    total += float(c)
    result = total.astype(np.float32)
    halfway = np.flatnonzero(total.view(np.int64) << (64 - _HALF_AN_ULP) == _HALFWAY)
    total = total[halfway]
    error = _sum_error(product[halfway], float(c), total)
    beyond = np.nextafter(total, np.copysign(np.inf, error))
    result[halfway] = np.where(error == 0, total, beyond)
    return result


def _fused_float64(a, b, c):
    b, c = float(b), float(c)
    if not (2.0**-900 < abs(b) < 2.0**900 and math.isfinite(c)):
        return np.array([_fused_number(x, b, c) for x in a.tolist()])
    result = np.empty_like(a)
    for start in range(0, a.size, _BLOCK):  # so that intermediate values stay in the cache
        block = slice(start, start + _BLOCK)
        result[block] = _fused_block(a[block], b, c)
    return result


def _fused_block(a: np.ndarray, b: float, c: float) -> np.ndarray:
    """The rounded sum, to which its error and that of the product (T. Dekker) are added."""
    product = a * b
    high_b, low_b = _halves(np.float64(b))
    high, low = _halves(a)
    error = high * high_b
    error -= product
    high *= low_b
    error += high
    error += low * high_b
    low *= low_b
    error += low
    total = product + c
    rest = _sum_error(product, c, total)
    correction = rest + error
    result = total + correction
    # Halfway between two neighbours the correction's own rounding decides.
    total -= result
    total += correction
    total *= _BEYOND
    total += result
    halfway = np.flatnonzero(total != result)
    if halfway.size:
        inexact = _sum_error(rest[halfway], error[halfway], correction[halfway]) != 0
        for i in halfway[inexact].tolist():
            result[i] = _fused_number(float(a[i]), b, c)
    return result


def _sum_error(a, b, total):
    """The error of total = a + b, exactly (D. Knuth's TwoSum)."""
    second = total - a
    error = total - second
    np.subtract(a, error, out=error)
    np.subtract(b, second, out=second)
    error += second
    return error


def _halves(x):
    """Two numbers of half the bits, whose sum is x."""
    high = x * _SPLITTER
    high -= high - x
    return high, x - high


def _fused_number(a: float, b: float, c: float) -> float:
    if not all(map(math.isfinite, (a, b, c))):
        return a * b + c
    return float(Fraction(a) * Fraction(b) + Fraction(c))
