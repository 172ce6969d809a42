"""Distances between lists of numbers of two traces."""

from __future__ import annotations

import struct
from math import isfinite
from typing import Any

from conformance.base.tolerances import PRECISIONS, tolerance, unit_in_last_place


def difference(expected: list[Any], got: list[Any], dtype: str) -> tuple[int | None, float | None]:
    """Return the index of the first element that differs, and the largest error in ULP.

    Elements are numbers, "nan", "inf" or "-inf", or pairs of these for complex dtypes. The index
    is None where all lie within the tolerance of `dtype`, in which they were computed; the error
    is None for a dtype that is not floating, and leaves out elements that are not finite, or
    smaller than the absolute tolerance.
    """
    if len(expected) != len(got):
        return min(len(expected), len(got)), None
    largest = 0.0 if dtype in PRECISIONS else None
    if expected == got:
        return None, largest
    allowed = tolerance(dtype)
    first = None
    for index, (one, other) in enumerate(zip(expected, got, strict=True)):
        if one == other:
            continue
        error = _distance(one, other)
        # Below the absolute tolerance a number counts as zero, which has no last place.
        if error is not None and largest is not None and _size(one) >= allowed.atol:
            largest = max(largest, error / unit_in_last_place(_size(one), dtype))
        near = error is not None and error <= allowed.atol + allowed.rtol * _size(one)
        if first is None and not near:
            first = index
    return first, largest


def coarser(dtype: str, other: str) -> str:
    """Return the dtype of the two that has fewer digits; `dtype` if one of them has none."""
    if dtype not in PRECISIONS or other not in PRECISIONS:
        return dtype
    return min((dtype, other), key=lambda d: PRECISIONS[d].bits)


def scalar_dtype(expected: Any, got: Any) -> str:
    """Return the dtype whose tolerance two Python numbers have.

    A number from a float32 tensor has no more digits than float32.
    """
    single = _is_single(expected) and _is_single(got)
    if isinstance(expected, list):
        return "complex64" if single else "complex128"
    return "float32" if single else "float64"


def _is_single(value: Any) -> bool:
    if isinstance(value, list):
        return all(map(_is_single, value))
    number = float(value)
    try:
        return bool(number != number or struct.unpack("f", struct.pack("f", number))[0] == number)
    except OverflowError:
        return False


def _distance(one: Any, other: Any) -> float | None:
    """Return |one - other|, None where a non-finite number keeps it from being one."""
    if isinstance(one, list) and isinstance(other, list):
        parts = [_distance(a, b) for a, b in zip(one, other, strict=True)]
        if any(part is None for part in parts):
            return None
        return abs(complex(*(part or 0.0 for part in parts)))
    if isinstance(one, str) and one == other:
        return 0.0
    if isinstance(one, (str, list)) or isinstance(other, (str, list)):
        return None
    distance = abs(one - other)
    return distance if isfinite(distance) else None


def _size(value: Any) -> float:
    if isinstance(value, list):
        return abs(complex(*(0.0 if isinstance(v, str) else v for v in value)))
    return abs(float(value))
