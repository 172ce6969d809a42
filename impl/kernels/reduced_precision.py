"""Half and bfloat16 arithmetic: torch's CPU kernels compute in float32 and round once."""

from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np
from scipy.sparse import _sparsetools

from impl.core.dtypes import REDUCED, WIDE
from impl.kernels.vectorized import largest, ones, smallest


def widened(raw):
    """The raw value cast to float32 if it is half or bfloat16, else unchanged."""
    return raw.astype(np.float32) if raw.dtype in REDUCED else raw


def accumulate_dtype(dtype: np.dtype) -> np.dtype:
    """The NumPy dtype in which elements of `dtype` are summed (ATen's acc_type)."""
    return np.dtype(np.float32) if dtype in REDUCED else dtype


def rounded_once_in(*halves: np.dtype):
    """Decorator for a kernel of several steps: compute in float32 and round only the result.

    It applies to the given reduced dtypes; in the others each step is rounded, as in NumPy. The
    result has the operands' dtype if that is the same for all, else float32.
    """
    kinds = frozenset(halves)

    def decorated(kernel):
        @functools.wraps(kernel)
        def call(*args, **settings):
            if getattr(args[0], "dtype", None) in WIDE:
                return kernel(*args, **settings)  # all operands were promoted to this dtype
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
    """Decorator for a SciPy function of (value, ...): half and bfloat16 through float32."""

    def call(value, *rest):
        result = function(widened(value), *rest)
        return result.astype(value.dtype) if value.dtype in REDUCED else result

    return call


def combine_at(ufunc, target: np.ndarray, key, values) -> np.ndarray:
    """Apply `ufunc` at the indices `key`; duplicate indices combine all their values (ufunc.at).

    The target is written in place and returned, except for bfloat16: ufunc.at does not support
    extension types, so the result is a new array, computed in float32.
    """
    if target.dtype.kind != "V":
        ufunc.at(target, key, values)
        return target
    wide = target.astype(np.float32)
    ufunc.at(wide, key, values.astype(np.float32))
    return wide.astype(target.dtype)


def add_at(target: np.ndarray, key, values) -> np.ndarray:
    """Add values at the indices `key`; half and bfloat16 are rounded once, after all additions."""
    if target.dtype not in REDUCED:
        _add_in_order(target, key, values)
        return target
    wide = target.astype(np.float32)
    _add_in_order(wide, key, values.astype(np.float32))
    return wide.astype(target.dtype)


def _add_in_order(target: np.ndarray, key, values) -> None:
    """np.add.at; where rows are added to rows, in a fifth of its time."""
    rows = _row_numbers(target.shape, key, values)
    if rows is None:
        np.add.at(target, key, values)
    else:
        _add_rows(target, rows, values)


def _row_numbers(shape, key, values) -> np.ndarray | None:
    """The numbers of the rows at the indices `key`, to which rows of `values` are added; None for
    other keys, and for rows of few elements."""
    rows = key[0] if type(key) is tuple and len(key) == 1 else key
    wide = type(rows) is np.ndarray and rows.dtype == np.intp and math.prod(shape[1:]) >= 16
    return rows if wide and rows.ndim == 1 and values.shape == (rows.size, *shape[1:]) else None


def _add_rows(target: np.ndarray, rows: np.ndarray, values: np.ndarray) -> None:
    """Add `values` to the rows with these numbers, in this order where they are repeated.

    In each round the next occurrence of every row is added, all of them together.
    """
    following = np.empty(len(target), np.intp)
    left = np.arange(rows.size - 1, -1, -1)  # so that the next occurrence is written last
    taken = left
    while taken.size >= 16:
        wanted = rows[left]
        following[wanted] = left
        is_next = following[wanted] == left
        taken = left[is_next]
        target[rows[taken]] += values[taken]
        left = left[~is_next]
    if left.size:
        left = left[::-1]
        np.add.at(target, rows[left], values[left])


def sums_at(shape: tuple[int, ...], key, values) -> np.ndarray:
    """Zeros of this shape with values added at the indices `key`, each with a rounding.

    Sums of rows are a product with the sparse matrix of ones that chooses them, which adds them in
    their order, too. SciPy's loop is called without a matrix object, which costs as much as the
    product of a thousand rows.
    """
    rows = _row_numbers(shape, key, values)
    chosen = values.dtype in WIDE and values.dtype.kind == "f" and values.size >= 2048
    if rows is None or not (chosen and smallest(rows) >= 0 and largest(rows) < shape[0]):
        return add_each_at(np.zeros(shape, values.dtype), key, values)
    result, count = np.zeros(shape, values.dtype), rows.size
    choice = (np.arange(count + 1), rows, ones((count,), values.dtype))  # its columns, compressed
    width = values.size // count
    _sparsetools.csc_matvecs(shape[0], count, width, *choice, values.ravel(), result.ravel())
    return result


def add_each_at(target: np.ndarray, key, values) -> np.ndarray:
    """Add values at the indices `key` in place, with a rounding after each addition."""
    if target.dtype.kind != "V":
        _add_in_order(target, key, values)
        return target
    places = np.arange(target.size).reshape(target.shape)[key]
    flat = target.flat
    for place, value in zip(places.flat, np.broadcast_to(values, places.shape).flat, strict=True):
        flat[place] = flat[place] + value
    return target


def kept_where(condition, value):
    """`np.where(condition, value, 0)`, for a bool array of the same shape.

    np.where branches for each element; on large arrays it is many times faster to multiply the
    bits, as integers, by 0 or 1. Unlike a product of floats this is also right for NaN and inf.
    """
    bits = _SAME_SIZE.get(value.dtype)
    large = type(value) is np.ndarray and value.size >= 1024
    if not large or bits is None or value.shape != condition.shape:
        return np.where(condition, value, value.dtype.type(0))
    result = np.empty(value.shape, value.dtype)  # owns its memory, so the engine may write it
    kept = result.view(bits)
    kept[...] = condition.view(np.int8)
    kept *= value.view(bits)
    return result


_SAME_SIZE: dict[Any, np.dtype[Any]] = {
    np.dtype(np.float32): np.dtype(np.int32),
    np.dtype(np.float64): np.dtype(np.int64),
}
