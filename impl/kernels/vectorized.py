"""Reductions and comparisons of large arrays in forms for which NumPy has vectorised loops."""

from __future__ import annotations

import functools

import numpy as np

from impl.core.dtypes import WIDE

VECTOR = 32
"""Bytes of ATen's vectors on a CPU with AVX2."""

LONG_VECTOR = 64
"""Those of the few loops that ATen compiles for AVX-512, too."""

_LARGE = 1 << 16
_ROW = 8192
_ROWS = 64
_SEVERAL = 1024
_FLOAT32 = np.dtype(np.float32)
_INFINITY = np.float32(np.inf)

# Up to this many rows, a product with a vector of ones is a faster sum than a reduction.
MODERATE = 512


def total(raw: np.ndarray):
    """The sum of all elements, a NumPy scalar.

    A large array is first summed as rows: the addition of rows is vectorised, NumPy's pairwise sum
    is not, and the error bound, about 64 + log2(n) roundings, has the same order.
    """
    if raw.size < _LARGE or raw.dtype.kind != "f" or not raw.flags.c_contiguous:
        return np.add.reduce(raw, None)
    flat = raw.reshape(-1)
    whole = flat.size - flat.size % _ROWS
    rows = flat[:whole].reshape(_ROWS, -1)
    return np.sum(rows.sum(0)) + np.sum(flat[whole:])


def beyond(choose: np.ufunc, bound, value):
    """`choose(bound, value)` for np.maximum or np.minimum, fast for a scalar float32 `bound`.

    NumPy's loop over an array and a scalar is not vectorised; `clip` and the loop over an array and
    a row filled with the scalar are. For float64 the gain is too small.
    """
    small = value.dtype is not _FLOAT32 or value.size < _SEVERAL
    if small or type(bound) is not np.float32 or type(value) is not np.ndarray:
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
    """The smallest element of a non-empty array; NaN if it contains one.

    argmin is vectorised and has less overhead than a reduction of few elements.
    """
    return raw.item(raw.argmin())


def largest(raw: np.ndarray) -> float:
    """The largest element, as `smallest`."""
    return raw.item(raw.argmax())


def in_whole_vectors(*operands: np.ndarray, width: int = VECTOR) -> np.ndarray:
    """Which elements ATen's elementwise loops take in whole vectors, two at a time, for operands
    of one shape: most of them if all are row-major or one of them is an expanded number, none
    otherwise."""
    first = operands[0]
    result = np.zeros(first.shape, bool)
    others = [o for o in operands if not o.flags.c_contiguous]
    if not others or (len(others) == 1 < len(operands) and not any(others[0].strides)):
        result.reshape(-1)[: first.size - first.size % (2 * width // first.itemsize)] = True
    return result


@functools.lru_cache(512)
def ones(shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
    """A cached array of ones, for sums as products (see `MODERATE`).

    It is shared and must not be written.
    """
    return np.ones(shape, dtype)


@functools.lru_cache(512)
def starts(rows: int, columns: int) -> np.ndarray:
    """The offsets of the rows of a row-major matrix, in elements; cached and shared as `ones`."""
    return np.arange(0, rows * columns, columns) if columns else np.zeros(rows, np.int64)


def sum_of_rows(matrix: np.ndarray) -> np.ndarray:
    """The sum of the rows of a row-major matrix with at most `MODERATE` rows; a view."""
    return ones((len(matrix),), matrix.dtype).dot(matrix).view()


def column_sums(rows: np.ndarray) -> np.ndarray:
    """The sums of the columns of a matrix."""
    few = 1 < len(rows) <= MODERATE and rows.shape[1] > 1 and rows.flags.c_contiguous
    return sum_of_rows(rows) if few else np.add.reduce(rows, 0)


def row_sums(raw: np.ndarray) -> np.ndarray:
    """The sums over the last dimension, which is kept: of rows of moderate length a product."""
    width = raw.shape[-1]
    if 1 < width <= MODERATE and raw.flags.c_contiguous and raw.dtype in WIDE:
        sums = raw.reshape(-1, width).dot(ones((width,), raw.dtype))
        return sums.reshape(*raw.shape[:-1], 1)
    return np.add.reduce(raw, -1, keepdims=True)
