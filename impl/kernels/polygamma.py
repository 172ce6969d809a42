"""Digamma, the polygamma functions and Hurwitz's zeta function, rounded as ATen rounds them.

ATen computes digamma step by step in the number's own type. It adds the terms of zeta in double,
but has the first of them from the power of that type; and the factorial in polygamma from the
exponential of a logarithm.
"""

from __future__ import annotations

import math

import numpy as np
import scipy.special

from impl.kernels import libm
from impl.kernels.reduced_precision import widened

_AT_10 = 2.25175258906672110764
_DIGAMMA_SERIES = (
    8.33333333333333333333e-2,
    -2.10927960927960927961e-2,
    7.57575757575757575758e-3,
    -4.16666666666666666667e-3,
    3.96825396825396825397e-3,
    -8.33333333333333333333e-3,
    8.33333333333333333333e-2,
)

_HALF_LOG = 4.18938533204672725052e-01  # of 2 pi, less 1/2
_SERIES = (
    -1.63092934096575273989e-03,
    8.36339918996282139126e-04,
    -5.95187557450339963135e-04,
    7.93650558643019558500e-04,
    -2.77777777728775536470e-03,
    8.33333333333329678849e-02,
)
_LARGEST = math.log(np.finfo(np.float64).max)  # of the numbers whose exponential is finite


def digamma(value: np.ndarray) -> np.ndarray:
    """The derivative of lgamma, in float32 or float64: NaN at negative integers, and
    at 0 an infinity of the other sign."""
    value = np.asarray(value)
    below = value < 0
    with np.errstate(all="ignore"):
        found = _digamma_above_0(np.where(below, 1 - value, value))
        found = np.where(value == 0, np.copysign(np.inf, -value), found)
        if below.any():
            fractions = np.modf(value[below].astype(np.float64))[0]
            found[below] -= (math.pi / libm.tan(math.pi * fractions)).astype(value.dtype)
            found[below & (value == np.trunc(value))] = np.nan
    return found.astype(value.dtype)


def _digamma_above_0(x):
    total = np.zeros_like(x)
    while (small := x < 10).any():
        total = np.where(small, total - 1 / x, total)
        x = np.where(small, x + 1, x)
    square = 1 / (x * x)
    series = np.zeros_like(x)
    for coefficient in _DIGAMMA_SERIES:
        series = series * square + x.dtype.type(coefficient)
    rest = np.where(x < 1e17, square * series, x.dtype.type(0))
    logarithm = libm.log(x.astype(np.float64)).astype(x.dtype)
    half = x.dtype.type(0.5)
    return np.where(x == 10, total + x.dtype.type(_AT_10), total + logarithm - half / x - rest)


def hurwitz_zeta(x, q) -> np.ndarray:
    """The sum of (k + q) ** -x over all k from 0 on, in the dtype of `q`."""
    found = scipy.special.zeta(x, q)
    if q.dtype != np.float32:
        return found
    with np.errstate(all="ignore"):
        wide = scipy.special.zeta(x.astype(np.float64), q.astype(np.float64))
        first = q.astype(np.float64) ** -x.astype(np.float64)
        exact = wide - first + first.astype(np.float32)
        return np.where(np.isfinite(exact), exact, found).astype(np.float32)


def polygamma(n: int, value: np.ndarray) -> np.ndarray:
    """The n-th derivative of digamma, for n above 1."""
    wide = widened(value)
    real = wide.dtype.type
    terms = widened(hurwitz_zeta(np.asarray(n + 1, real), wide).astype(value.dtype))
    logarithm = float(real(_log_factorial(n)))
    factorial = real(math.exp(logarithm) if logarithm < _LARGEST else math.inf)
    with np.errstate(over="ignore"):
        return ((factorial if n % 2 else -factorial) * terms).astype(value.dtype)


def _log_factorial(n: int) -> float:
    """lgamma(n + 1) as FreeBSD's and GNU's C libraries have it: from 8 on the asymptotic series."""
    x = n + 1.0
    if x < 8:
        return math.log(math.factorial(n))
    rest = 0.0
    for coefficient in _SERIES:
        rest = rest / (x * x) + coefficient
    return (x - 0.5) * (math.log(x) - 1.0) + (_HALF_LOG + rest / x)
