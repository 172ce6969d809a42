"""Casts of arrays and numbers between dtypes (ATen/native/Copy.cpp, c10/util/TypeCast.h)."""

from __future__ import annotations

import numpy as np

from impl.core.dtypes import BY_NUMPY


def converted(raw, dtype: np.dtype):
    """A raw value cast to a dtype; a cast from complex to real drops the imaginary part."""
    if raw.dtype == dtype:
        return raw
    if raw.dtype.kind == "c" and dtype.kind not in "cb":
        raw = raw.real
    return raw.astype(dtype)


# Names of integer types in the message of c10's checked_convert.
_FIXED_WIDTHS = {name: f"{name}_t" for name in ("uint8", "int8", "int16", "int64")}


def storable(value, dtype: np.dtype):
    """A Python number as it is stored in an element of `dtype`.

    A complex number loses its imaginary part in a real dtype; RuntimeError if that is not zero,
    except for bool, which accepts any number.
    """
    if not isinstance(value, complex) or dtype.kind == "c":
        return value
    if dtype.kind == "b":
        return value != 0
    if value.imag:
        d = BY_NUMPY[dtype]
        raise RuntimeError(
            f"value cannot be converted to type {_FIXED_WIDTHS.get(d.name, d.c_name)} without "
            "overflow"
        )
    return value.real
