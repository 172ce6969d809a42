"""In-place writes to the memory of a tensor, and changes of its size."""

from __future__ import annotations

import numpy as np

from impl.core import inference_mode
from impl.core.meta_arrays import is_meta
from impl.core.sizes import check_resized
from impl.core.state import STATE
from impl.core.strides import contiguous_strides, extent, may_overlap, strided
from impl.tensor import resize_storage
from impl.tensor.geometry import elements
from impl.tensor.lazy_conj import LazyConjTensor
from impl.tensor.tensor import Tensor


def announce(target: Tensor) -> None:
    """Tell torch's dispatch mode, if one is active, that an operator is about to write a tensor or
    to change its geometry. Raises RuntimeError for an inference tensor, which has no version."""
    if STATE.before_write is not None:
        STATE.before_write(target)


def write(target: Tensor, value) -> None:
    """Write a value of the target's shape in place, and increment the version counter."""
    announce(target)
    array = target._array()
    if is_meta(array) or is_meta(value):  # there is nothing to write, or nowhere
        inference_mode.count(target)
        return
    if isinstance(target, LazyConjTensor):
        # In the target's dtype first: NumPy negates neither bools nor unsigned integers as wanted.
        value = target.resolve(np.asarray(value).astype(array.dtype, copy=False))
    if target._strides is not None and may_overlap(target._raw.shape, target._strides):
        # Several elements share a location: only the changed ones must be written.
        changed = array != value
        array[changed] = value[changed]
    else:
        array[...] = value
    inference_mode.count(target)


def write_parts(target: Tensor, parts) -> None:
    """`write` of parts of the target, (key, value) each, that are made one after the other."""
    announce(target)
    array = target._array()
    for key, value in parts:
        array[key] = value
    inference_mode.count(target)


def overwrite(target: Tensor, raw) -> None:
    """`write` on the fast path: a row-major target, a raw value that fits, no version increment."""
    memory = target._storage
    if isinstance(target._raw, np.ndarray):
        target._raw[...] = raw
    elif isinstance(memory.buffer, np.ndarray):
        target._array()[...] = raw
    else:
        target._raw = memory.buffer = raw


def resize(tensor: Tensor, shape, strides=None) -> None:
    """Set the sizes and strides in place; enlarges the storage if needed (ATen's resize_).

    `strides` None stands for row-major. Raises RuntimeError for sizes of too many elements.
    """
    check_resized(shape)
    if tensor._raw.shape == tuple(shape) and strides in (None, tensor.stride()):
        return
    row_major = contiguous_strides(shape)
    steps = row_major if strides is None else strides
    size = extent(shape, steps)
    tensor._array()
    if size + tensor._offset > tensor._storage.flat.size:
        resize_storage.resize_storage(tensor._storage, size + tensor._offset)
    flat = elements(tensor._storage, tensor._raw.dtype)
    tensor._raw = strided(flat, shape, steps, tensor._offset)
    tensor._strides = None if steps == row_major else steps
    tensor._dense_meta = None
    if tensor._inference or tensor.is_meta:
        inference_mode.use_slow_path(tensor)
