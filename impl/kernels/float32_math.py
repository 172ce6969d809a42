"""Logarithm, sine and cosine in float32, with the polynomials of torch's vectorised `normal_`.

The polynomials are from S. Moshier's Cephes library (logf, sinf, cosf), in the order of operations
of J. Pommier's vector versions (ATen/native/cpu/avx_mathfun.h), with fused multiply-adds where the
compiled kernel has them.
"""

from __future__ import annotations

import numpy as np

from impl.kernels.fused_multiply_add import fused_float32 as fused

_f = np.float32
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


def _rounded(coefficients):
    """Coefficients in float32, as float64 numbers; of several polynomials a column each."""
    rounded = [np.array(c, np.float32).astype(np.float64) for c in coefficients]
    return [c.reshape(-1, 1) if c.ndim else float(c) for c in rounded]


_LOG_COEFFICIENTS, _TURN_COEFFICIENTS = _rounded(_LOG), _rounded(_TURN)


def _polynomial(x, coefficients, total):
    """The value at x, in the shape of `total`, which is float64 memory to work in."""
    wide = x.astype(np.float64)
    result, other = np.empty((2, *total.shape), np.float32)
    first, second, *others = coefficients
    fused(wide, first, second, total, result)
    for c in others:
        fused(result, wide, c, total, other)
        result, other = other, result
    return result


def log(x: np.ndarray) -> np.ndarray:
    """The natural logarithm of positive float32 numbers."""
    bits = x.view(np.int32)
    exponent = bits >> 23
    exponent -= 0x7E
    bits = bits & 0x007FFFFF
    bits |= 0x3F000000
    x = bits.view(np.float32)
    # All bits set where x is below the root of 1/2: chosen by masks, since np.where has a branch
    # for each element.
    low = bits - _ROOT
    low >>= 31
    exponent += low
    power = exponent.astype(np.float32)
    low &= bits
    x = x - _f(1)
    x += low.view(np.float32)
    z = x * x
    total = np.empty(x.shape)
    y = _polynomial(x, _LOG_COEFFICIENTS, total)
    y *= x
    y = fused(y, z, power * _f(-2.12194440e-4), total)
    z *= _f(0.5)
    y -= z
    x += y
    power *= _f(0.693359375)  # exact, so that this multiply-add rounds only once, too
    power += x
    return power


def sine_cosine(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Sine and cosine of non-negative float32 numbers of moderate magnitude."""
    octant = (x * _f(1.27323954473516)).astype(np.int32)
    octant += 1
    octant &= ~1
    y = octant.astype(np.float32)
    for part in (-0.78515625, -2.4187564849853515625e-4):
        x = x + y * _f(part)  # these parts have few bits: the products are exact
    total = np.empty((2, *x.shape))
    x = fused(y, _f(-3.77489497744594108e-8), x, total[0])
    z = x * x
    both = _polynomial(z, _TURN_COEFFICIENTS, total)
    both *= z
    cosine = fused(both[0], z, z * _f(-0.5), total[0])
    sine = fused(both[1], x, x, total[1])
    cosine += _f(1)
    # Exchange them in every other pair of octants, and set the signs, by masks as in `log`.
    sines, cosines = sine.view(np.int32), cosine.view(np.int32)
    swapped = octant << 30
    swapped >>= 31
    swapped &= sines ^ cosines
    sines ^= swapped
    cosines ^= swapped
    sines ^= (octant & 4) << 29
    octant -= 2
    cosines ^= (~octant & 4) << 29
    return sine, cosine
