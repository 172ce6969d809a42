"""The kernels of random numbers: fused multiply-add, and the C library's functions."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from impl.factories.generator import Generator
from impl.kernels import libm
from impl.kernels.fused_multiply_add import fused

FACTORS = [(0.2, -0.1), (5.0, -2.0), (1 / 3, 1e-3), (1e-10, 1.0), (3.0, 1e10), (2.0, -1.0)]
FACTORS += [(-0.7, 0.7), (1.5, -0.75), (0.0, 2.0), (3 * 2.0**-53, 1.0), (2.0**-60, 1.0), (1.0, 0.0)]


def uniforms(bits: int) -> np.ndarray:
    """Random numbers, and such of few bits, whose sums lie between two neighbours."""
    rng = np.random.default_rng(0)
    return np.concatenate([rng.integers(0, 2**bits, 6000) * 2.0**-bits, np.arange(64) / 64])


def rounded(value: Fraction, bits: int) -> float:
    """The nearest number with so many bits, the even one of two."""
    if not value:
        return 0.0
    unit = Fraction(2) ** (math.frexp(float(value))[1] - bits)
    return float(round(value / unit) * unit)


@pytest.mark.parametrize("dtype, bits", [(np.float32, 24), (np.float64, 53)])
@pytest.mark.parametrize("b, c", FACTORS)
def test_a_multiply_add_rounds_once(b, c, dtype, bits):
    a, b, c = uniforms(bits).astype(dtype), dtype(b), dtype(c)
    exact = [Fraction(float(x)) * Fraction(float(b)) + Fraction(float(c)) for x in a]
    assert fused(a, b, c).tolist() == [rounded(value, bits) for value in exact]


@pytest.mark.parametrize("b, c", [(1e300, 1.0), (1e-300, 1e-310), (math.inf, 1.0), (2.0, math.nan)])
def test_a_multiply_add_beyond_the_range(b, c):
    a = uniforms(53)[1:]
    got = fused(a, b, c).tolist()
    if math.isfinite(b) and math.isfinite(c):
        assert got == [float(Fraction(x) * Fraction(b) + Fraction(c)) for x in a.tolist()]
    else:
        assert np.array_equal(got, a * b + c, equal_nan=True)


def test_functions_of_arrays_are_those_of_the_c_library():
    u = uniforms(53)
    turns = 2 * math.pi * u
    sine, cosine = libm.sine_cosine(turns)
    wide = np.concatenate([40 * u - 20, [709.5, 1000.0, -740.0, -1000.0]])
    positive = u[u > 0]
    for got, function, values in (
        (libm.log_of_uniform(positive), math.log, positive),
        (libm.log1p(-u), math.log1p, -u),
        (libm.tan(turns), math.tan, turns),
        (sine, math.sin, turns),
        (cosine, math.cos, turns),
        (libm.exp(wide), lambda x: math.exp(x) if x < 1000 else math.inf, wide),
    ):
        assert got.tolist() == list(map(function, values.tolist()))
    assert libm.log_of_uniform(np.zeros(1)).tolist() == [-math.inf]


@pytest.mark.parametrize("count", [0, 1, 2, 3, 10, 1000, 20000])
def test_a_permutation_is_that_of_one_exchange_after_the_other(count):
    generator = Generator()
    state = generator.get_state()
    order = list(range(count))
    for i, draw in enumerate(generator.words(max(count - 1, 0)).tolist()):
        other = i + draw % (count - i)
        order[i], order[other] = order[other], order[i]
    generator.set_state(state)
    assert generator.permutation(count).tolist() == order
