"""Geometries: which elements of a storage a tensor shows, and what shows others of them."""

from __future__ import annotations

import functools
from typing import Any, NamedTuple

import numpy as np

from impl import inference
from impl.pending import Pending, bits, marked
from impl.storage import (
    Memory,
    Storage,
    address,
    contiguous_strides,
    element_strides,
    extent,
    strided,
    strides_of,
)
from impl.tensor import Tensor, blank


class Geometry(NamedTuple):
    """Sizes, strides and offset over a storage, in elements."""

    shape: tuple[int, ...]
    strides: tuple[int, ...]
    offset: int


class Window(NamedTuple):
    """Where in its memory a view of a float tensor finds its elements, and what it looks like."""

    shape: tuple[int, ...]
    strides: tuple[int, ...] | None  # in elements; None: row-major
    offset: int
    start: int  # in bytes, as the strides that NumPy takes
    steps: tuple[int, ...] | None  # None: it is all that the tensor shows, in the same order
    look: Any  # its `meta_of`
    common: Any  # what `impl.tensor.common` finds


def geometry(tensor: Tensor) -> Geometry:
    """The sizes, strides and offset of a tensor."""
    return Geometry(tensor._raw.shape, tensor.stride(), tensor._offset)


def alias(tensor: Tensor, target: Geometry, dtype: np.dtype | None = None) -> Tensor:
    """A tensor over the same storage, counter included, with no history: what detach() returns.

    With `dtype` the memory is taken for elements of that type, in which the geometry counts.
    """
    shape, strides, offset = target
    raw = tensor._array()
    result = blank()
    result._storage = storage = tensor._storage
    if dtype is not None:
        result._raw = strided(elements(storage, dtype), shape, strides, offset)
    elif shape == raw.shape and offset == tensor._offset and strides == tensor.stride():
        result._raw = raw
    else:
        result._raw = strided(elements(storage, raw.dtype), shape, strides, offset)
    if strides != contiguous_strides(shape):
        result._strides = strides
    result._offset = offset
    if tensor._inference:
        inference.mark(result)
    return marked(result, *bits(tensor)) if isinstance(tensor, Pending) else result


def elements(storage: Storage, dtype: np.dtype) -> np.ndarray:
    """The whole memory as one 1-d array of any dtype; bytes that are no whole element are left."""
    flat = storage.flat
    if flat.dtype == dtype:
        return flat
    return flat.view(np.uint8)[: flat.nbytes // dtype.itemsize * dtype.itemsize].view(dtype)


def check_bounds(tensor: Tensor, target: Geometry) -> None:
    """Raise RuntimeError when a geometry reaches beyond the storage."""
    size, stride, offset = target
    itemsize = tensor._raw.dtype.itemsize
    needed = 0 if 0 in size else offset + extent(size, stride)
    if needed * itemsize > tensor._storage.nbytes():
        raise RuntimeError(
            f"setStorage: sizes {list(size)}, strides {list(stride)}, storage offset {offset}, "
            f"and itemsize {itemsize} requiring a storage size of {needed * itemsize} are out of "
            f"bounds for storage of size {tensor._storage.nbytes()}"
        )


def array_kernel(function, multiple: bool):
    """The function on geometries as one on arrays, which returns a view or a tuple of them."""

    @functools.wraps(function)
    def kernel(raw, *args):
        array = np.asarray(raw)
        strides = strides_of(array) or contiguous_strides(array.shape)
        if array.size:  # those of single elements too, where row-major is a matter of opinion
            strides = element_strides(array)
        source = Geometry(array.shape, strides, 0)
        targets = function(source, *args)
        views = [_array_view(array, t) for t in (targets if multiple else (targets,))]
        return tuple(views) if multiple else views[0]

    kernel.__name__ = function.__name__
    return kernel


def _array_view(array: np.ndarray, target: Geometry) -> np.ndarray:
    if 0 in target.shape:
        if 0 in target.strides:  # of an expanded nothing; NumPy could not tell it from row-major
            return np.empty(target.shape, array.dtype).view()  # which owns nothing, as others
        return strided(array.reshape(-1)[:0], *target)
    if array.dtype.kind == "f":
        owner = array if array.flags.c_contiguous else array.base
        if type(owner) is np.ndarray and owner.flags.c_contiguous and owner.dtype is array.dtype:
            return _window(array, owner, target)
    size = array.itemsize
    start = address(array) + target.offset * size
    window = np.asarray(Memory(array, start, target.shape, [s * size for s in target.strides]))
    # The array interface knows extension types (bfloat16) only as bytes.
    return window if window.dtype == array.dtype else window.view(array.dtype)


def _window(array: np.ndarray, owner: np.ndarray, target: Geometry) -> np.ndarray:
    """A view of an array as one of the row-major array it is part of, which NumPy makes fastest."""
    size = array.itemsize
    offset = target.offset * size
    if owner is not array:
        offset += address(array) - address(owner)
    strides = [s * size for s in target.strides]
    return np.ndarray(target.shape, array.dtype, owner, offset, strides)
