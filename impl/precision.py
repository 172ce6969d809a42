"""Half and bfloat16, which torch's CPU kernels compute in float32 and round once."""

from __future__ import annotations

import functools

import numpy as np

from impl.dtypes import REDUCED


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
            present = {a.dtype for a in args if isinstance(a, (np.ndarray, np.generic))}
            if not present & kinds:
                return kernel(*args, **settings)
            half = next(iter(present)) if len(present) == 1 else np.dtype(np.float32)
            wide = [
                a.astype(np.float32) if getattr(a, "dtype", None) in REDUCED else a for a in args
            ]
            result = kernel(*wide, **settings)
            if isinstance(result, tuple):
                return tuple(r.astype(half) for r in result)
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
    """Values added to the places of `key`; see `combine_at`."""
    return combine_at(np.add, target, key, values)
