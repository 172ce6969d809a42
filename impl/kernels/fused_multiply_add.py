"""Fused multiply-add on arrays: a * b + c with one rounding, as torch's compiled kernels have it.

NumPy has no such function. The product and the sum are taken with more precision, and the rare
elements for which a second rounding could matter are computed again.
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np

_BLOCK = 4096
_SPLITTER = 2.0**27 + 1
_HALF_AN_ULP = 29  # a double whose lowest 29 bits are 1000… lies between two neighbours in float32
_HALFWAY = np.iinfo(np.int64).min
_BEYOND = 1 + 2.0**-40


def fused(a: np.ndarray, b, c) -> np.ndarray:
    """a * b + c with one rounding, of an array of float32 or float64 and two numbers."""
    if b == 1:
        return a + c
    if c == 0:
        return a * b + c  # whose sum is exact, and makes 0 of -0
    if a.dtype == np.float32:
        return fused_float32(a, b, c)
    if not (b == 0 or 2.0**-900 < abs(b) < 2.0**900) or not math.isfinite(c):
        return np.array([_fused_number(x, b, c) for x in a.tolist()])
    result = np.empty_like(a)
    for start in range(0, a.size, _BLOCK):  # so that intermediate values stay in the cache
        block = slice(start, start + _BLOCK)
        result[block] = _fused_float64(a[block], float(b), float(c))
    return result


def fused_float32(a, b, c, total: np.ndarray | None = None, out: np.ndarray | None = None):
    """a * b + c of float32 arrays and numbers: exact product, sum in float64.

    Rounding that sum to float32 is a second rounding where it is halfway between two neighbours.
    In a chain of operations `total`, in float64, and `out` are memory to work in and for the
    result, other than the operands: that of new arrays is mapped, and its pages faulted in.
    """
    if total is None:
        total = np.asarray(_wide(a) * _wide(b))
    else:
        total[...] = a
        total *= b
    total += _wide(c)
    if out is None:
        out = total.astype(np.float32)
    else:
        out[...] = total
    result, low_bits = out, total.view(np.int64)
    low_bits <<= 64 - _HALF_AN_ULP
    # The smallest element by argmin, which is vectorised.
    if low_bits.size and low_bits.item(low_bits.argmin()) == _HALFWAY:
        halfway = low_bits == _HALFWAY
        a, b, c = (np.broadcast_to(np.asarray(v, float), halfway.shape)[halfway] for v in (a, b, c))
        product = a * b
        total = product + c
        error = _sum_error(product, c, total)
        result[halfway] = np.where(
            error == 0, total, np.nextafter(total, np.copysign(np.inf, error))
        )
    return result


def _wide(value):
    """A number, or an array in float64."""
    return value.astype(np.float64, copy=False) if isinstance(value, np.ndarray) else float(value)


def _sum_error(a, b, total):
    """The error of total = a + b, exactly (D. Knuth's TwoSum)."""
    second = total - a
    error = total - second
    np.subtract(a, error, out=error)
    np.subtract(b, second, out=second)
    error += second
    return error


def _fused_float64(a: np.ndarray, b: float, c: float) -> np.ndarray:
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


def _halves(x):
    """Two numbers of half the bits, whose sum is x."""
    high = x * _SPLITTER
    high -= high - x
    return high, x - high


def _fused_number(a: float, b: float, c: float) -> float:
    if not all(map(math.isfinite, (a, b, c))):
        return a * b + c
    return float(Fraction(a) * Fraction(b) + Fraction(c))
