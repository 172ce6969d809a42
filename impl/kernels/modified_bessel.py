"""Modified Bessel functions of the first kind of float32, with the rounding that ATen's have.

ATen evaluates Cephes' expansions in Chebyshev polynomials (i0f.c, i1f.c) in single precision: those
of exp(-x) i0(x) and exp(-x) i1(x) / x up to 8, and beyond of sqrt(x) exp(-x) times either function.
At 0, i0 is thereby the number before 1. SciPy computes in double precision; the coefficients here
are those of its functions, which round to the same floats.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import scipy.special
from numpy.polynomial import chebyshev

from impl.kernels.fused_multiply_add import product_plus
from impl.kernels.reduced_precision import at_least_float32

_HALF = np.float32(0.5)


def _coefficients(function: Callable, degree: int, count: int) -> list[np.float32]:
    """The first coefficients of a function of [-1, 1], from the last to twice the constant."""
    found = chebyshev.chebinterpolate(function, degree)[:count]
    found[0] *= 2
    return [*found[::-1].astype(np.float32)]


def _near(scaled: Callable, limit: float, power: int) -> Callable:
    """exp(-x) times a function, divided by a power of x, for x up to 8 mapped to [-1, 1]."""

    def function(place):
        x = 4 * (place + 1)
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where(x < 1e-12, limit, scaled(x) / x**power)

    return function


def _far(scaled: Callable) -> Callable:
    """sqrt(x) exp(-x) times a function, for 1 / x up to 1/8 mapped to [-1, 1]."""

    def function(place):
        with np.errstate(divide="ignore", invalid="ignore"):
            x = 16 / (place + 1)
            return np.where(place + 1 < 1e-9, 1 / math.sqrt(2 * math.pi), scaled(x) * np.sqrt(x))

    return function


def _sum(x: np.ndarray, coefficients: list) -> np.ndarray:
    """The sum of the polynomials at x in [-2, 2], by Clenshaw's recurrence (chbevl)."""
    first, *others = coefficients
    value, before, last = np.full_like(x, first), np.zeros_like(x), np.zeros_like(x)
    for coefficient in others:
        last, before = before, value
        value = product_plus(x, before, -last) + coefficient
    return _HALF * (value - last)


def _expansion(name: str, limit: float, power: int, counts: tuple[int, int]):
    """The function of that name, with and without its factor exp(-|x|)."""
    scaled = getattr(scipy.special, name + "e")
    near = _coefficients(_near(scaled, limit, power), 39, counts[0])
    far = _coefficients(_far(scaled), 24, counts[1])

    def value(x: np.ndarray, factor) -> np.ndarray:
        size = np.abs(x)
        with np.errstate(all="ignore"):
            low = _sum(size * _HALF - np.float32(2), near)
            low = factor * size * low if power else factor * low
            high = factor * _sum(np.float32(32) / size - np.float32(2), far) / np.sqrt(size)
        result = np.where(size <= 8, low, high)
        return np.where(x < 0, -result, result) if power else result

    def grown(x: np.ndarray) -> np.ndarray:
        with np.errstate(over="ignore"):
            return value(x, np.exp(np.abs(x).astype(np.float64)).astype(np.float32))

    return (
        _in_single(grown, getattr(scipy.special, name)),
        _in_single(lambda x: value(x, np.float32(1)), scaled),
    )


def _in_single(function: Callable, of_doubles: Callable) -> Callable:
    """A function of float32, and through float32 of halves; SciPy's of doubles."""

    @at_least_float32
    def chosen(x):
        return (function if x.dtype == np.float32 else of_doubles)(x)

    return chosen


i0, i0e = _expansion("i0", 1.0, 0, (30, 25))
i1, i1e = _expansion("i1", 0.5, 1, (17, 7))
