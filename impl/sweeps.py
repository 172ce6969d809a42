"""Sweeps over large arrays, put so that NumPy takes its vector loops: the values are the same."""

from __future__ import annotations

import functools

import numpy as np

_LARGE = 1 << 16
_ROW = 8192
_ROWS = 64

# Up to so many elements are added sooner as a product with ones than by a reduction.
MODERATE = 512


def total(raw: np.ndarray):
    """The sum of all elements, a NumPy scalar.

    A large array is summed in rows first: an addition of rows is vectorised, NumPy's pairwise sum
    is not, and the error bound, some 64 + log2(n) roundings, is of the same order.
    """
    if raw.size < _LARGE or raw.dtype.kind != "f" or not raw.flags.c_contiguous:
        return np.sum(raw)
    flat = raw.reshape(-1)
    whole = flat.size - flat.size % _ROWS
    rows = flat[:whole].reshape(_ROWS, -1)
    return np.sum(rows.sum(0)) + np.sum(flat[whole:])


def beyond(choose: np.ufunc, bound, value):
    """`choose(bound, value)` for np.maximum or np.minimum, where `bound` is mostly one number.

    Beside a number they compare one by one, beside a row of that number in vectors; for float64,
    of which a vector holds few, that is not worth it.
    """
    large = type(value) is np.ndarray and value.size >= _LARGE and value.flags.c_contiguous
    if not large or value.dtype != np.float32 or getattr(bound, "dtype", None) != np.float32:
        return choose(bound, value)
    if np.ndim(bound):
        return choose(bound, value)
    result = np.empty(value.shape, value.dtype)
    flat, out = value.reshape(-1), result.reshape(-1)
    whole = flat.size - flat.size % _ROW
    row = np.full(_ROW, bound)
    choose(row, flat[:whole].reshape(-1, _ROW), out=out[:whole].reshape(-1, _ROW))
    choose(bound, flat[whole:], out=out[whole:])
    return result


@functools.lru_cache(512)
def ones(shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
    """Ones to multiply by, which sums rows or columns of `MODERATE` length.

    They are shared: not to be written.
    """
    return np.ones(shape, dtype)
