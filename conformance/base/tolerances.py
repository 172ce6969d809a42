"""Tolerances per dtype, within which two values count as equal."""

from __future__ import annotations

import math
from typing import NamedTuple


class Tolerance(NamedTuple):
    """Two numbers agree where |got - expected| <= atol + rtol * |expected|."""

    rtol: float
    atol: float


class Precision(NamedTuple):
    """A binary format: bits behind the point, and the smallest exponent of a normal number."""

    bits: int
    min_exponent: int


# Source: the table under torch.testing.assert_close in PyTorch's documentation, "Testing".
TOLERANCES = {
    "float16": Tolerance(1e-3, 1e-5),
    "bfloat16": Tolerance(1.6e-2, 1e-5),
    "float32": Tolerance(1.3e-6, 1e-5),
    "float64": Tolerance(1e-7, 1e-7),
    "complex32": Tolerance(1e-3, 1e-5),
    "complex64": Tolerance(1.3e-6, 1e-5),
    "complex128": Tolerance(1e-7, 1e-7),
}
# The tolerance of every dtype that the table does not list: integers and bool.
EXACT = Tolerance(0.0, 0.0)

# Source: IEEE 754-2019, table 3.5; bfloat16 is binary32 with 7 bits behind the point.
PRECISIONS = {
    "float16": Precision(10, -14),
    "bfloat16": Precision(7, -126),
    "float32": Precision(23, -126),
    "float64": Precision(52, -1022),
    "complex32": Precision(10, -14),
    "complex64": Precision(23, -126),
    "complex128": Precision(52, -1022),
}


def tolerance(dtype: str) -> Tolerance:
    """Return the tolerance of a dtype named as torch names it, `float32`."""
    return TOLERANCES.get(dtype, EXACT)


def unit_in_last_place(value: float, dtype: str) -> float:
    """Return the distance from the finite `value` to the next number of `dtype` away from zero.

    Raises KeyError for a dtype that is not a binary floating-point format.
    """
    bits, smallest = PRECISIONS[dtype]
    exponent = math.frexp(value)[1] - 1 if value else smallest
    return math.ldexp(1.0, max(exponent, smallest) - bits)
