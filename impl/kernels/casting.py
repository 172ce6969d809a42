"""Casts of arrays and numbers between dtypes (ATen/native/Copy.cpp, c10/util/TypeCast.h)."""

from __future__ import annotations

import math

import ml_dtypes
import numpy as np

from impl.core.allocator import check_storage
from impl.core.dtypes import ALL, BY_NUMPY, FLOATING, INTEGRAL, REDUCED, float32, float64, int64


def converted(raw, dtype: np.dtype):
    """A raw value cast to a dtype; a cast from complex to real drops the imaginary part."""
    if raw.dtype == dtype:
        return raw
    if discards(raw.dtype, dtype):
        raw = raw.real
    return raw.astype(dtype)


def discards(source: np.dtype, target: np.dtype) -> bool:
    """Whether a cast discards imaginary parts, of which torch warns."""
    return source.kind == "c" and target.kind not in "cb"


# Names of integer types in the message of c10's checked_convert.
_FIXED_WIDTHS = {name: f"{name}_t" for name in ("uint8", "int8", "int16", "int64")}
_FLOAT32, _FLOAT64, _INT64 = float32.numpy, float64.numpy, int64.numpy
_LIMITS: dict[np.dtype, tuple] = {
    d.numpy: (int(np.iinfo(d.numpy).min), int(np.iinfo(d.numpy).max))
    for d in ALL
    if d.category == INTEGRAL
}
for _d in ALL:
    if _d.category >= FLOATING:
        _most = float(ml_dtypes.finfo(_d.numpy).max)
        _LIMITS[_d.numpy] = (-_most, _most)


def storable(value, dtype: np.dtype):
    """A Python number converted to an element of `dtype` (c10's checked_convert).

    Raises RuntimeError where it is out of range: for bool no number is, for floats no infinity,
    and negative integers wrap around where the dtype has no sign. A complex number is out of range
    of a real dtype unless its imaginary part is zero.
    """
    if dtype.kind == "b":
        return dtype.type(value != 0)
    if isinstance(value, (complex, np.complexfloating)):
        fits = in_range(value.real, dtype) and in_range(value.imag, dtype)
        if dtype.kind != "c":
            fits, value = fits and not value.imag, value.real
    else:
        fits = in_range(value, dtype)
    if not fits:
        raise overflow(dtype)
    if dtype.kind not in "iu" and isinstance(value, int):
        value = float(value)  # which bfloat16 takes where it does not take a large integer
    return np.asarray(value).astype(dtype)[()]


def limit(end: str, value, dtype: np.dtype):
    """A number that limits elements of `dtype` from one `end`, "min" or "max" (ATen's clamp); one
    that bounds integers may lie beyond all of them.

    Raises RuntimeError for a limit that no integer is within, and as `storable` does.
    """
    if dtype.kind not in "iu":
        return element(value, dtype)
    low, high = _LIMITS[dtype]
    if value > high if end == "min" else value < low:
        raise RuntimeError(
            f"Clamp {end} value {value:g} is outside the representable range of "
            f"{BY_NUMPY[dtype].legacy}"
        )
    whole = value if isinstance(value, int) else int(storable(value, _INT64))
    return dtype.type(min(max(whole, low), high))


def element(value, dtype: np.dtype):
    """`storable`, faster for the small numbers that most settings of operators are."""
    if type(value) in (int, float) and 0 <= value <= 127:
        return dtype.type(value)
    return storable(value, dtype)


def filled(shape, value, dtype: np.dtype) -> np.ndarray:
    """A new array of one number (ATen's fill_). Raises RuntimeError as `storable` and
    `check_storage` do.

    A single element of half or bfloat16 takes any double, which may round to infinity.
    """
    check_storage(shape, dtype.itemsize)
    single = dtype in REDUCED and math.prod(shape) == 1
    return np.full(shape, storable(value, _FLOAT64 if single else dtype), dtype)


def check_numbers(dtype: np.dtype, *numbers) -> None:
    """Raise RuntimeError unless all can be converted to the type in which a kernel for `dtype`
    computes, which is float for half and bfloat16 (at::opmath_type)."""
    for number in numbers:
        if not (type(number) in (int, float) and -127 <= number <= 127):
            storable(number, _FLOAT32 if dtype in REDUCED else dtype)


def without_imaginary_part(number, dtype: np.dtype):
    """A number as a kernel for `dtype` takes it: of a complex one the real part, where the dtype is
    real; `check_numbers` refuses those whose imaginary part is not zero."""
    return number.real if isinstance(number, complex) and dtype.kind != "c" else number


def overflow(dtype: np.dtype, name: str | None = None) -> RuntimeError:
    """The error for a number that cannot be converted to a dtype, which messages call `name`."""
    d = BY_NUMPY[dtype]
    name = name or _FIXED_WIDTHS.get(d.name, d.c_name)
    return RuntimeError(f"value cannot be converted to type {name} without overflow")


def in_range(value, dtype: np.dtype) -> bool:
    """Whether a real number can be converted to a dtype other than bool."""
    low, high = _LIMITS[dtype]
    if isinstance(value, (int, np.integer)):
        return (-high if dtype.kind == "u" else low) <= value <= high
    # Compared as floats, of which 2 ** 63 is the one that stands for the largest int64.
    return low <= value <= float(high) or (dtype.kind not in "iu" and not math.isfinite(value))
