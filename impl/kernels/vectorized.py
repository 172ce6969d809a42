"""Reductions and comparisons of large arrays in forms for which NumPy has vectorised loops."""

from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np

from impl.core.dtypes import WIDE
from impl.core.tensor_iterator import dimension_order

VECTOR = 32
"""Bytes of ATen's vectors on a CPU with AVX2."""

LONG_VECTOR = 64
"""Those of the few loops that ATen compiles for AVX-512, too."""

_LARGE = 1 << 16
_ROW = 8192
_ROWS = 64
_LEVELS = 4  # of sums of blocks
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
    if raw.size <= MODERATE:
        return np.add.reduce(raw, None)
    if raw.size < _LARGE or raw.dtype.kind != "f" or not raw.flags.c_contiguous:
        return sum_along(raw, tuple(range(np.ndim(raw))))
    flat = raw.reshape(-1)
    whole = flat.size - flat.size % _ROWS
    rows = flat[:whole].reshape(_ROWS, -1)
    return np.sum(rows.sum(0)) + np.sum(flat[whole:])


def sum_along(raw: np.ndarray, axes, keepdims: Any = False):
    """The sum over axes, None for all.

    NumPy adds one row after another, with an error of that many roundings, but for the axis that is
    innermost in memory. Many rows are therefore summed in blocks, whose sums are summed so in turn,
    where ATen does so (cascade_sum in SumKernel.cpp), and in its order.
    """
    axis = None if axes is None else _long_axis(raw, axes)
    if axis is None:
        return np.add.reduce(raw, axes, keepdims=keepdims)
    every = (slice(None),) * axis
    power = max(4, (raw.shape[axis] - 1).bit_length() // _LEVELS)
    total: Any = None
    for _ in range(_LEVELS - 1):
        before, (rows, *after) = raw.shape[:axis], raw.shape[axis:]
        whole = rows >> power << power
        if whole < rows:
            rest = np.add.reduce(raw[*every, whole:], axis, keepdims=True)
            total = rest if total is None else total + rest
        if not whole:
            break
        blocks = raw[*every, :whole].reshape(*before, -1, 1 << power, *after)
        raw = np.add.reduce(blocks, axis + 1)
    else:
        rest = np.add.reduce(raw, axis, keepdims=True)
        total = rest if total is None else total + rest
    return sum_along(total, axes, keepdims)


def _long_axis(raw, axes) -> int | None:
    """The longest of the axes, if it is long, of floating numbers, and the second in memory when
    those are counted as one that TensorIterator coalesces; the first is summed by pairs."""
    if np.size(raw) <= MODERATE or raw.dtype.kind not in "fc":
        return None
    axis = max(axes, key=raw.shape.__getitem__, default=None)
    if axis is None or raw.shape[axis] <= MODERATE:
        return None
    strides = [abs(step) for step in raw.strides]
    place, end, kept = -1, -1, False
    for d in sorted((d for d, n in enumerate(raw.shape) if n > 1), key=strides.__getitem__):
        if strides[d] != end or kept != (d not in axes):
            place, kept = place + 1, d not in axes
        if d == axis:
            break
        end = strides[d] * raw.shape[d]
    return axis if place == 1 else None


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
    """Which elements of broadcast operands ATen's elementwise loops take in whole vectors, two at a
    time: most of each run of elements that all operands have in a row, or all but one, for which
    the run is one element (VectorizedLoop2d). The result has the common shape."""
    shape = np.broadcast_shapes(*(operand.shape for operand in operands))
    every = [np.broadcast_to(operand, shape) for operand in operands]
    size = operands[0].itemsize
    strides = [[step // size for step in operand.strides] for operand in every]
    order = dimension_order(shape, [(shape, steps) for steps in strides])[::-1]
    run, dims = _run([shape[d] for d in order], [[steps[d] for d in order] for steps in strides])
    result = np.zeros((math.prod(shape[d] for d in order[:dims]), run), bool)
    result[:, : run - run % (2 * width // size)] = True
    return result.reshape([shape[d] for d in order]).transpose(np.argsort(order))


def _run(shape: list[int], strides: list[list[int]]) -> tuple[int, int]:
    """The length of the runs of a loop over dimensions from the outermost to the innermost, and how
    many dimensions are left; without vectors the length is one."""
    run, dims = 1, len(shape)
    steps: list[int | None] = [None] * len(strides)
    while dims:
        size, outer = shape[dims - 1], [s[dims - 1] for s in strides]
        if size != 1:
            wanted = [o if s is None else s * run for s, o in zip(steps, outer, strict=True)]
            if outer != wanted:
                break
            steps = [o if s is None else s for s, o in zip(steps, outer, strict=True)]
            run *= size
        dims -= 1
    single = sum(step == 0 for step in steps)
    vectors = all(step in (0, 1, None) for step in steps) and single <= (len(strides) > 1)
    return (run, dims) if vectors else (1, len(shape))


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
