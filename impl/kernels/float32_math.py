"""Logarithm, sine and cosine in float32, with the polynomials of torch's vectorised `normal_`.

The polynomials are from S. Moshier's Cephes library (logf, sinf, cosf), in the order of operations
of J. Pommier's vector versions (ATen/native/cpu/avx_mathfun.h), with fused multiply-adds where the
compiled kernel has them.

A fused multiply-add is an exact product and a sum in float64, rounded to float32. The second
rounding does no harm here: for all 2**24 uniform numbers that the kernel draws from, no such sum
lies halfway between two floats unless it is exact (the tests go through them).
"""

from __future__ import annotations

import numpy as np

_ROOT = np.array(0.707106781186547524, np.float32).view(np.int32)[()]  # as bits
_LOG = (
    7.0376836292e-2,
    -1.1514610310e-1,
    1.1676998740e-1,
    -1.2420140846e-1,
    1.4249322787e-1,
    -1.6668057665e-1,
    2.0000714765e-1,
    -2.4999993993e-1,
    3.3333331174e-1,
)
# Of the cosine and of the sine, which are evaluated together as two rows.
_TURN = (
    (2.443315711809948e-5, -1.9515295891e-4),
    (-1.388731625493765e-3, 8.3321608736e-3),
    (4.166664568298827e-2, -1.6666654611e-1),
)


def _rounded(value) -> np.ndarray:
    """A coefficient in float32, as a float64 array; of several polynomials a column."""
    rounded = np.array(value, np.float32).astype(np.float64)
    return rounded.reshape(-1, 1) if rounded.ndim else rounded


_LOG_COEFFICIENTS, _TURN_COEFFICIENTS = ([_rounded(c) for c in row] for row in (_LOG, _TURN))

_LAST_OF_OCTANT = _rounded(-3.77489497744594108e-8)


def _fused(a, b, c, wide: np.ndarray, out: np.ndarray) -> None:
    """Write a * b + c to `out`, by way of `wide`, which is float64 memory.

    Memory is at hand for a chain of operations: that of new arrays is mapped, and its pages faulted
    in.
    """
    wide[...] = a
    wide *= b
    wide += c
    out[...] = wide


def _polynomial(x, coefficients, wide):
    """The value at x, in the shape of `wide`."""
    x = x.astype(np.float64)
    first, second, *others = coefficients
    result = np.empty(wide.shape, np.float32)
    _fused(x, first, second, wide, result)
    for c in others:
        _fused(result, x, c, wide, result)
    return result


def log(x: np.ndarray) -> np.ndarray:
    """The natural logarithm of positive multiples of 2**-24 up to 1 in float32."""
    bits = x.view(np.int32) - _ROOT
    power = (bits >> 23).astype(np.float32)
    bits &= 0x007FFFFF
    bits += _ROOT
    x = bits.view(np.float32)  # between the roots of 1/2 and 2
    x -= 1
    z = x * x
    wide = np.empty(x.shape)
    y = _polynomial(x, _LOG_COEFFICIENTS, wide)
    y *= x
    _fused(y, z, power * -2.12194440e-4, wide, y)
    z *= 0.5
    y -= z
    x += y
    power *= 0.693359375  # exact, so that this multiply-add rounds only once, too
    power += x
    return power


def sine_cosine(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Sine and cosine of the products of 2π, rounded, and multiples of 2**-24 below 1."""
    octant = (x * 1.27323954473516).astype(np.int32)
    octant += 1
    octant &= ~1
    y = octant.astype(np.float32)
    for part in (-0.78515625, -2.4187564849853515625e-4):
        x = x + y * part  # these parts have few bits: the products are exact
    wide = np.empty((2, *x.shape))
    _fused(y, _LAST_OF_OCTANT, x, wide[0], x)
    z = x * x
    both = _polynomial(z, _TURN_COEFFICIENTS, wide)
    both *= z
    cosine, sine = both
    _fused(cosine, z, z * -0.5, wide[0], cosine)
    _fused(sine, x, x, wide[1], sine)
    cosine += 1
    # Exchange them in every other pair of octants, and set the signs: by masks, since np.where has
    # a branch for each element.
    sines, cosines = sine.view(np.int32), cosine.view(np.int32)
    swapped = octant << 30
    swapped >>= 31
    swapped &= sines ^ cosines
    sines ^= swapped
    cosines ^= swapped
    sines ^= (octant & 4) << 29
    octant += 2
    cosines ^= (octant & 4) << 29
    return sine, cosine
