"""Strides: contiguity, density, extent, and NumPy arrays with given strides."""

from __future__ import annotations

import itertools
from functools import lru_cache

import numpy as np


def contiguous_strides(shape) -> tuple[int, ...]:
    """Row-major strides in elements, as in torch: a size of 0 counts as 1."""
    return _contiguous_strides(tuple(shape))


@lru_cache(8192)
def _contiguous_strides(shape: tuple[int, ...]) -> tuple[int, ...]:
    strides, step = [], 1
    for size in reversed(shape):
        strides.append(step)
        step *= size if size > 1 else 1
    strides.reverse()
    return tuple(strides)


def unboxed(array):
    """An array, or the NumPy scalar in one without dimensions, on which arithmetic is faster."""
    return array if array.ndim else array[()]


def is_contiguous(shape, strides) -> bool:
    """Whether row-major without gaps; the strides of dimensions of size one are ignored."""
    if 0 in shape:
        return True
    step = 1
    for size, stride in zip(reversed(shape), reversed(strides), strict=True):
        if size != 1:
            if stride != step:
                return False
            step *= size
    return True


def is_dense(shape, strides) -> bool:
    """Whether non-overlapping and dense: some permutation of the dimensions is contiguous."""
    return _is_dense(tuple(shape), tuple(strides))


@lru_cache(8192)
def _is_dense(shape: tuple[int, ...], strides: tuple[int, ...]) -> bool:
    if 0 in shape:
        return True
    step = 1
    for stride, size in sorted((st, sz) for sz, st in zip(shape, strides, strict=True) if sz != 1):
        if stride != step:
            return False
        step *= size
    return True


def may_overlap(shape, strides) -> bool:
    """Whether elements may share a memory location: some dimension steps less far than those
    inside it reach (ATen's test, where it has one)."""
    reach = 0
    for stride, size in sorted(zip(strides, shape, strict=True)):
        if size > 1:
            if stride <= reach:
                return True
            reach += stride * (size - 1)
    return False


def has_zero_strides(shape, strides) -> bool:
    """Whether several elements share one memory location, as in an expanded tensor."""
    return 0 not in shape and any(s == 0 and n > 1 for s, n in zip(strides, shape, strict=True))


def strided(flat: np.ndarray, shape, strides, offset: int) -> np.ndarray:
    """A NumPy view of `flat` (1-d, contiguous) with sizes, strides and offset in elements."""
    size = flat.itemsize
    start = 0 if 0 in shape else offset * size
    return type(flat)(shape, flat.dtype, flat, start, [s * size for s in strides])


def extent(shape, strides) -> int:
    """The number of memory locations from the first element to the last, both included."""
    if 0 in shape:
        return 0
    return 1 + sum((n - 1) * s for n, s in zip(shape, strides, strict=True))


def row_major(array: np.ndarray) -> np.ndarray:
    """The array, or a copy of it, in row-major order, with the strides of that in dimensions of
    size one, too."""
    result = np.asarray(array, order="C")
    if result.base is None or 1 not in result.shape:
        return result
    return result.reshape(-1).reshape(result.shape)


def element_strides(array: np.ndarray) -> tuple[int, ...]:
    """NumPy's strides of an array, in elements."""
    size = array.itemsize
    return tuple([s // size for s in array.strides])


class Buffer(np.ndarray):
    """The memory of one array that NumPy can make only as a view, by its strides."""

    __slots__ = ()


def empty_strided(shape, strides, dtype: np.dtype) -> np.ndarray:
    """An uninitialised array whose strides are the given ones."""
    if 0 in shape:
        return np.empty(shape, dtype)
    steps = [s * dtype.itemsize for s in strides]
    return np.ndarray(shape, dtype, Buffer(extent(shape, strides), dtype), 0, steps)


def without_elements(shape, strides, dtype: np.dtype) -> np.ndarray:
    """An array without elements whose strides are the given ones."""
    return np.ndarray(shape, dtype, Buffer(0, dtype), 0, [s * dtype.itemsize for s in strides])


def owns_memory(array: np.ndarray) -> bool:
    """Whether an array was made with its memory: it is no view of another tensor's."""
    return array.base is None or type(array.base) is Buffer


def strides_of(array) -> tuple[int, ...] | None:
    """The strides of an array in elements, or None when they are the row-major ones."""
    if array.ndim == 0 or (array.size == 0 and not any(array.strides)):
        return None  # a NumPy array without elements that owns its memory has zero strides
    if array.ndim == 1 and array.shape[0] == 1:
        return None if array.strides[0] or array.base is None else (0,)  # of an expanded one
    # Only views by `strided` have other than row-major strides in dimensions of size one.
    if array.base is None and array.flags.c_contiguous:
        return None
    strides = element_strides(array)
    return None if strides == contiguous_strides(array.shape) else strides


def is_permuted(array: np.ndarray) -> bool:
    """Whether the strides are not in row-major order, or equal, as where elements overlap; zero
    strides are ignored."""
    if array.flags.c_contiguous or array.ndim < 2:
        return False
    if array.ndim == 2:
        return 0 < array.strides[0] <= array.strides[1]
    strides = [s for s in array.strides if s]
    return any(a <= b for a, b in itertools.pairwise(strides))
