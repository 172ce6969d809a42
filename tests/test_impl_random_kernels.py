"""The kernels of random numbers: fused multiply-add, and the C library's functions."""

from __future__ import annotations

import hashlib
import math
from fractions import Fraction

import numpy as np
import pytest

import impl
from impl.factories.generator import Generator, _remainders
from impl.kernels import float32_math, fused_multiply_add, libm
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


@pytest.fixture(params=["axpy", "two roundings"])
def axpy(request, monkeypatch):
    """With BLAS's axpy where it rounds once, and without."""
    if request.param != "axpy":
        monkeypatch.setattr(fused_multiply_add, "_axpy_rounds_once", lambda dtype: False)


@pytest.mark.usefixtures("axpy")
@pytest.mark.parametrize("dtype, bits", [(np.float32, 24), (np.float64, 53)])
@pytest.mark.parametrize("b, c", FACTORS)
def test_a_multiply_add_rounds_once(b, c, dtype, bits):
    a, b, c = uniforms(bits).astype(dtype), dtype(b), dtype(c)
    exact = [Fraction(float(x)) * Fraction(float(b)) + Fraction(float(c)) for x in a]
    assert fused(a, b, c).tolist() == [rounded(value, bits) for value in exact]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_an_axpy_of_two_roundings_is_noticed(monkeypatch, dtype):
    monkeypatch.setattr(fused_multiply_add, "_axpy", lambda a, b, c, out: np.add(a * b, c, out=out))
    assert not fused_multiply_add._axpy_rounds_once.__wrapped__(np.dtype(dtype))


@pytest.mark.usefixtures("axpy")
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
        (libm.log(positive), math.log, positive),
        (libm.log1p(-u), math.log1p, -u),
        (libm.tan(turns), math.tan, turns),
        (sine, math.sin, turns),
        (cosine, math.cos, turns),
        (libm.exp(wide), lambda x: math.exp(x) if x < 1000 else math.inf, wide),
    ):
        assert got.tolist() == list(map(function, values.tolist()))
    assert libm.log(np.zeros(1)).tolist() == [-math.inf]


@pytest.mark.parametrize("nearly", [np.tan, lambda x: np.tan(x) * (1 + 2.0**-41)])
def test_float32_numbers_are_those_of_the_exact_function(nearly):
    angles = math.pi * (np.random.default_rng(0).random(100_000) - 0.5)
    for factor, offset in ((1.0, 0.0), (3.0, 1000.0)):
        exact = factor * libm.tan(angles) + offset
        found = libm.float32_of(
            lambda x, a=factor, b=offset: a * libm.tan(x) + b,
            lambda x, a=factor, b=offset: a * nearly(x) + b,
            angles,
            offset,
        )
        assert np.array_equal(found, exact.astype(np.float32))


def test_the_second_rounding_of_a_normal_number_does_no_harm(monkeypatch):
    """Of all 2**24 uniform numbers, no sum lies halfway between two floats unless it is exact."""

    def fused(a, b, c, wide, out):
        np.multiply(a, b, out=wide)
        product = wide.copy()
        wide += c
        halfway = np.nonzero(wide.view(np.int64) << 35 == np.iinfo(np.int64).min)
        terms = product[halfway], np.broadcast_to(c, wide.shape)[halfway].astype(float)
        assert not fused_multiply_add._sum_error(*terms, wide[halfway]).any()
        out[...] = wide

    monkeypatch.setattr(float32_math, "_fused", fused)
    for numbers in np.arange(2**24, dtype=np.float32).reshape(-1, 2**15):
        numbers *= np.float32(2**-24)
        float32_math.log(1 - numbers)
        float32_math.sine_cosine(numbers * np.float32(2 * math.pi))


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


# Of torch 2.13 on a processor with AVX2; see `impl.kernels.float32_math`.
DRAWN = {
    "normal_": ((), "06a5222af6e88287"),
    "normal_ of a mean": ((-1.0, 0.3), "8e7f6f27a28ef392"),
    "exponential_": ((), "cf523121e76ea152"),
}


def test_many_numbers_have_the_bits_of_torch():
    impl.manual_seed(0)
    for name, (arguments, expected) in DRAWN.items():
        drawn = getattr(impl.empty(50000), name.split()[0])(*arguments)
        assert hashlib.sha256(drawn.numpy().tobytes()).hexdigest()[:16] == expected, name


@pytest.mark.parametrize("bits", [32, 64])
def test_remainders_by_quotients(bits):
    draws = np.random.default_rng(0).integers(0, 2**bits, 1000, f"u{bits // 8}")
    for span in (1, 2, 3, 10, 2**28 - 1, 2 ** (bits - 1) + 1, 2**bits - 1):
        expected = [draw % span for draw in draws.tolist()]
        assert _remainders(draws.copy(), span).tolist() == expected


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("rounds_once", [True, False])
def test_fused_takes_factor_and_term_in_the_dtype_of_the_array(monkeypatch, dtype, rounds_once):
    """Whether or not the processor's BLAS fuses: 0.3 is another number in float32."""
    once = fused_multiply_add._axpy_rounds_once(np.dtype(dtype)) and rounds_once
    monkeypatch.setattr(fused_multiply_add, "_axpy_rounds_once", lambda _: once)
    a = np.random.default_rng(0).normal(size=1000).astype(dtype)
    exact = [Fraction(float(x)) * Fraction(float(dtype(0.3))) - 1 for x in a.tolist()]
    expected = [_nearest(value, dtype) for value in exact]
    assert fused(a, 0.3, -1.0).tolist() == expected


def _nearest(value: Fraction, dtype: type) -> float:
    """The number of the dtype that is nearest to a fraction."""
    about = dtype(float(value))
    around = [np.nextafter(about, dtype(-np.inf)), about, np.nextafter(about, dtype(np.inf))]
    return float(min(around, key=lambda one: abs(Fraction(float(one)) - value)))
