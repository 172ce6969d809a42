"""Geometries, the sizes, strides and offset of a tensor, and array views by a geometry."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from impl.core import messages
from impl.core.dtypes import FLOATING, bfloat16
from impl.core.meta_arrays import MetaArray, is_meta
from impl.core.sizes import check_count
from impl.core.storage import Memory, Storage, address
from impl.core.strides import contiguous_strides, element_strides, extent, strided, strides_of
from impl.tensor.tensor import Tensor


class Geometry(NamedTuple):
    """Sizes, strides and offset over a storage, in elements."""

    shape: tuple[int, ...]
    strides: tuple[int, ...]
    offset: int


class Window(NamedTuple):
    """The precomputed geometry and metadata of a view of a float tensor, for the fast path."""

    shape: tuple[int, ...]
    strides: tuple[int, ...] | None  # in elements; None: row-major
    offset: int
    start: int  # the offset in bytes
    steps: tuple[int, ...] | None  # strides in bytes; None: all elements of the tensor, in order
    meta: Any  # its `tensor_meta`
    dense_meta: Any  # its `impl.tensor.tensor.dense_meta`


def geometry(tensor: Tensor) -> Geometry:
    """The sizes, strides and offset of a tensor."""
    return Geometry(tensor._raw.shape, tensor.stride(), tensor._offset)


def elements(storage: Storage, dtype: np.dtype) -> np.ndarray:
    """The whole storage as a 1-d array of `dtype`, without trailing bytes of a partial element."""
    flat = storage.flat
    if flat.dtype == dtype:
        return flat
    return flat.view(np.uint8)[: flat.nbytes // dtype.itemsize * dtype.itemsize].view(dtype)


def check_offset(offset: int) -> None:
    """Raise RuntimeError for a negative offset, that of what lies before a storage's beginning."""
    if offset < 0:
        raise RuntimeError(f"Tensor: invalid storage offset {offset}")


def check_bounds(tensor: Tensor, target: Geometry) -> None:
    """Raise RuntimeError if a geometry exceeds the storage (ATen's checkInBoundsForStorage), and
    then for a size below zero, with which torch counts as if it were a large one."""
    check_offset(target.offset)
    check_room(target, tensor._raw.dtype.itemsize, tensor._storage.nbytes())
    if min(target.shape, default=0) < 0:
        check_count(target.shape)


def bytes_needed(target: Geometry, itemsize: int) -> int:
    """The size of the smallest storage that a geometry fits in."""
    size, stride, offset = target
    return 0 if 0 in size else (offset + extent(size, stride)) * itemsize


def check_room(
    target: Geometry, itemsize: int, room: int, stride: Sequence[int] | None = None
) -> None:
    """Raise RuntimeError for a geometry that needs more bytes than a storage has; as its strides
    the error shows `stride`, if that is given."""
    needed = bytes_needed(target, itemsize)
    if needed > room:
        strides = list(target.strides if stride is None else stride)
        raise RuntimeError(
            f"setStorage: sizes {list(target.shape)}, strides {strides}, storage offset "
            f"{target.offset}, and itemsize {itemsize} requiring a storage size of {needed} are "
            f"out of bounds for storage of size {room}"
        )


def of_pairs(tensor: Tensor) -> Geometry:
    """The geometry of the complex numbers that pairs of real ones are. Raises TypeError or
    NotImplementedError for other dtypes, RuntimeError for other sizes, strides and offsets."""
    d = tensor.dtype
    if d.is_complex:
        raise TypeError("view_as_complex is not supported for complex tensors")
    if d.category != FLOATING or d is bfloat16:
        raise NotImplementedError(
            "view_as_complex is only supported for half, float and double tensors, but got a "
            f"tensor of scalar type: {d.legacy}"
        )
    shape, strides, offset = geometry(tensor)
    if not shape:
        raise RuntimeError("Input tensor must have one or more dimensions")
    if shape[-1] != 2:
        raise RuntimeError("Tensor must have a last dimension of size 2")
    if strides[-1] != 1:
        raise RuntimeError("Tensor must have a last dimension with stride 1")
    if any(s % 2 for n, s in zip(shape, strides[:-1], strict=False) if n != 1):
        raise RuntimeError("Tensor must have a stride divisible by 2 for all but last dimension")
    if offset % 2:
        raise RuntimeError(messages.ODD_OFFSET)
    return Geometry(shape[:-1], tuple(s // 2 for s in strides[:-1]), offset // 2)


def array_kernel(function, multiple: bool):
    """The array kernel of a view operator, from its function on geometries.

    It returns a view, or a tuple of views if `multiple`.
    """

    @functools.wraps(function)
    def kernel(raw, *args):
        array = raw if is_meta(raw) else np.asarray(raw)
        strides = strides_of(array) or contiguous_strides(array.shape)
        if array.size:  # dimensions of size one too, whose strides may not be row-major
            strides = element_strides(array)
        source = Geometry(array.shape, strides, 0)
        targets = function(source, *args)
        views = [_array_view(array, t) for t in (targets if multiple else (targets,))]
        return tuple(views) if multiple else views[0]

    kernel.__name__ = function.__name__
    return kernel


def _array_view(array, target: Geometry):
    if is_meta(array):
        size = array.itemsize
        steps = [s * size for s in target.strides]
        return MetaArray(target.shape, array.dtype, array, target.offset * size, steps)
    if 0 in target.shape:
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
    """A view of `array`, made from its row-major `owner`, the fastest way in NumPy."""
    size = array.itemsize
    offset = target.offset * size
    if owner is not array:
        offset += address(array) - address(owner)
    strides = [s * size for s in target.strides]
    return np.ndarray(target.shape, array.dtype, owner, offset, strides)
