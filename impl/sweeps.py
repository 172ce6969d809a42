"""Sweeps over large arrays, put so that NumPy takes its vector loops: the values are the same."""

from __future__ import annotations

import functools

import numpy as np

_LARGE = 1 << 16
_ROW = 8192
_ROWS = 64
_SEVERAL = 1024
_FLOAT32 = np.dtype(np.float32)
_INFINITY = np.float32(np.inf)

# Up to so many elements are added sooner as a product with ones than by a reduction.
MODERATE = 512


def total(raw: np.ndarray):
    """The sum of all elements, a NumPy scalar.

    A large array is summed in rows first: an addition of rows is vectorised, NumPy's pairwise sum
    is not, and the error bound, some 64 + log2(n) roundings, is of the same order.
    """
    if raw.size < _LARGE or raw.dtype.kind != "f" or not raw.flags.c_contiguous:
        return np.add.reduce(raw, None)
    flat = raw.reshape(-1)
    whole = flat.size - flat.size % _ROWS
    rows = flat[:whole].reshape(_ROWS, -1)
    return np.sum(rows.sum(0)) + np.sum(flat[whole:])


def beyond(choose: np.ufunc, bound, value):
    """`choose(bound, value)` for np.maximum or np.minimum, where `bound` is mostly one number.

    Beside a number they compare one by one, beside a row of that number in vectors, and so does
    `clip`; for float64, of which a vector holds few, that is not worth it.
    """
    if type(bound) is not np.float32 or value.dtype is not _FLOAT32 or value.size < _SEVERAL:
        return choose(bound, value)
    if value.size < _LARGE or not value.flags.c_contiguous:
        least, most = (bound, _INFINITY) if choose is np.maximum else (-_INFINITY, bound)
        return value.clip(least, most)
    result = np.empty(value.shape, value.dtype)
    flat, out = value.reshape(-1), result.reshape(-1)
    whole = flat.size - flat.size % _ROW
    row = np.full(_ROW, bound)
    choose(row, flat[:whole].reshape(-1, _ROW), out=out[:whole].reshape(-1, _ROW))
    choose(bound, flat[whole:], out=out[whole:])
    return result


def smallest(raw: np.ndarray) -> float:
    """The smallest element of an array of at least one; NaN if there is one.

    It is looked for in vectors, which a reduction of few elements is not worth.
    """
    return raw.item(raw.argmin())


def largest(raw: np.ndarray) -> float:
    """The largest element, as `smallest`."""
    return raw.item(raw.argmax())


@functools.lru_cache(512)
def ones(shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
    """Ones to multiply by, which sums rows or columns of `MODERATE` length.

    They are shared: not to be written.
    """
    return np.ones(shape, dtype)


@functools.lru_cache(512)
def starts(rows: int, columns: int) -> np.ndarray:
    """Where the rows of a row-major matrix begin, in elements: shared, as `ones` are."""
    return np.arange(0, rows * columns, columns) if columns else np.zeros(rows, np.int64)


def sum_of_rows(matrix: np.ndarray) -> np.ndarray:
    """The sum of a row-major matrix's rows, of which there are `MODERATE`ly many: a view."""
    return ones((len(matrix),), matrix.dtype).dot(matrix).view()
