"""Logarithm, sine and cosine in float32, with the polynomials of torch's vectorised `normal_`.

The polynomials are from S. Moshier's Cephes library (logf, sinf, cosf), in the order of operations
of J. Pommier's vector versions (ATen/native/cpu/avx_mathfun.h), with fused multiply-adds where the
compiled kernel has them.
"""

from __future__ import annotations

import numpy as np

from impl.kernels.fused_multiply_add import fused_float32 as fused

_f = np.float32


def _polynomial(x, coefficients):
    wide = x.astype(np.float64)
    first, second, *others = map(_f, coefficients)
    result = fused(first, wide, second)
    for c in others:
        result = fused(result, wide, c)
    return result


def log(x: np.ndarray) -> np.ndarray:
    """The natural logarithm of positive float32 numbers."""
    bits = x.view(np.int32)
    exponent = ((bits >> 23) - 0x7E).astype(np.float32)
    x = ((bits & 0x007FFFFF) | 0x3F000000).view(np.float32)
    low = x < _f(0.707106781186547524)
    exponent = exponent - low
    x = (x - _f(1)) + np.where(low, x, _f(0))
    z = x * x
    y = _polynomial(
        x,
        (
            7.0376836292e-2,
            -1.1514610310e-1,
            1.1676998740e-1,
            -1.2420140846e-1,
            1.4249322787e-1,
            -1.6668057665e-1,
            2.0000714765e-1,
            -2.4999993993e-1,
            3.3333331174e-1,
        ),
    )
    y = y * x
    y = fused(y, z, exponent * _f(-2.12194440e-4))
    y = y - z * _f(0.5)
    return fused(exponent, _f(0.693359375), x + y)


def sine_cosine(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Sine and cosine of non-negative float32 numbers of moderate magnitude."""
    octant = (x * _f(1.27323954473516)).astype(np.int32)
    octant = (octant + 1) & ~1
    y = octant.astype(np.float32)
    for part in (-0.78515625, -2.4187564849853515625e-4, -3.77489497744594108e-8):
        x = fused(y, _f(part), x)
    z = x * x
    c = _polynomial(z, (2.443315711809948e-5, -1.388731625493765e-3, 4.166664568298827e-2))
    c = c * z
    c = fused(c, z, -(z * _f(0.5))) + _f(1)
    s = _polynomial(z, (-1.9515295891e-4, 8.3321608736e-3, -1.6666654611e-1))
    s = fused(s * z, x, x)
    plain = (octant & 2) == 0
    sine = np.where(plain, s, c)
    cosine = np.where(plain, c, s)
    sine = np.where((octant & 4) != 0, -sine, sine)
    cosine = np.where(((octant - 2) & 4) == 0, -cosine, cosine)
    return sine, cosine
