"""Half and bfloat16, which torch's CPU kernels compute in float32 and round once."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from impl.dtypes import REDUCED, WIDE


def widened(raw):
    """The raw value in float32 if it is half or bfloat16, else itself."""
    return raw.astype(np.float32) if raw.dtype in REDUCED else raw


def accumulator(dtype: np.dtype) -> np.dtype:
    """The NumPy dtype in which elements of `dtype` are summed."""
    return np.dtype(np.float32) if dtype in REDUCED else dtype


def rounded_once_in(*halves: np.dtype):
    """Decorate a kernel of several steps, of which only the last result is rounded.

    This holds for the given half types; in the others each step is rounded, as NumPy does it. The
    result has the operands' dtype if they have one in common, else float32.
    """
    kinds = frozenset(halves)

    def decorated(kernel):
        @functools.wraps(kernel)
        def call(*args, **settings):
            if getattr(args[0], "dtype", None) in WIDE:
                return kernel(*args, **settings)  # operands have been promoted to one dtype
            present = {a.dtype for a in args if isinstance(a, (np.ndarray, np.generic))}
            if not present & kinds:
                return kernel(*args, **settings)
            half = next(iter(present)) if len(present) == 1 else np.dtype(np.float32)
            wide = [
                a.astype(np.float32) if getattr(a, "dtype", None) in REDUCED else a for a in args
            ]
            result = kernel(*wide, **settings)
            if isinstance(result, tuple):
                return tuple(None if r is None else r.astype(half) for r in result)
            return result.astype(half)

        return call

    return decorated


rounded_once = rounded_once_in(*REDUCED)


def at_least_float32(function):
    """A SciPy function of (value, ...), which knows neither half nor bfloat16, for these too."""

    def call(value, *rest):
        result = function(widened(value), *rest)
        return result.astype(value.dtype) if value.dtype in REDUCED else result

    return call


def combine_at(ufunc, target: np.ndarray, key, values) -> np.ndarray:
    """`ufunc` applied to the places of `key`, one value after the other where a place comes again.

    In the target's own memory where NumPy can: its ufunc.at knows no extension types, so that
    bfloat16 takes a detour over float32, which holds all its numbers.
    """
    if target.dtype.kind != "V":
        ufunc.at(target, key, values)
        return target
    wide = target.astype(np.float32)
    ufunc.at(wide, key, values.astype(np.float32))
    return wide.astype(target.dtype)


def add_at(target: np.ndarray, key, values) -> np.ndarray:
    """Values added to the places of `key`; half and bfloat16 are rounded when all are added."""
    if target.dtype not in REDUCED:
        np.add.at(target, key, values)
        return target
    wide = target.astype(np.float32)
    np.add.at(wide, key, values.astype(np.float32))
    return wide.astype(target.dtype)


def add_each_at(target: np.ndarray, key, values) -> np.ndarray:
    """Values added to the places of `key` in the target's memory, with a rounding for each."""
    if target.dtype.kind != "V":
        np.add.at(target, key, values)
        return target
    places = np.arange(target.size).reshape(target.shape)[key]
    flat = target.reshape(-1)
    for place, value in zip(places.flat, np.broadcast_to(values, places.shape).flat, strict=True):
        flat[place] = flat[place] + value
    return flat.reshape(target.shape)


def kept_where(condition, value):
    """The value where a bool array of its shape holds, zero elsewhere, also for NaN and infinities.

    np.where takes a branch for each element; on large arrays it is many times faster to multiply
    the bits, read as an integer, by 0 or 1.
    """
    bits = _SAME_SIZE.get(value.dtype)
    large = value.ndim and value.size >= 1024
    if not large or bits is None or value.shape != condition.shape:
        return np.where(condition, value, value.dtype.type(0))
    result = np.empty(value.shape, value.dtype)  # no view of anything, so others may write to it
    kept = result.view(bits)
    kept[...] = condition.view(np.int8)
    kept *= value.view(bits)
    return result


_SAME_SIZE: dict[Any, np.dtype[Any]] = {
    np.dtype(np.float32): np.dtype(np.int32),
    np.dtype(np.float64): np.dtype(np.int64),
}
