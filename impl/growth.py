"""Memory that grows, and takes everything along that shows it.

NumPy cannot grow an array that has views. So new memory is taken, and whatever showed the old one,
views, detached aliases and what nodes have saved of outputs, is found and made to show the new.
"""

from __future__ import annotations

import gc
import sys

import numpy as np

from impl.geometries import elements
from impl.saved import SavedTensor
from impl.storage import Storage, contiguous_strides, strided
from impl.tensor import Tensor


def grow(storage: Storage, size: int) -> None:
    """Move to memory of `size` elements that begins with the present ones."""
    flat, shared = storage.flat, storage.buffer
    grown = np.zeros(size, flat.dtype)
    grown[: flat.size] = flat
    # Held by a tensor, our name and the call's own; the array by the tensor, the storage, its flat
    # view, our name and the call's own, and by one name more where it is flat itself.
    held = 5 + (flat is shared)
    if sys.getrefcount(storage) <= 3 and sys.getrefcount(shared) <= held:
        storage.move(grown)
        return
    tracked = gc.get_objects()
    # `.data` has the memory in a storage of its own, where writes are counted apart.
    moved = [s for s in _of(Storage, tracked) if s.buffer is shared]
    for other in moved:
        other.move(grown)
    keys = set(map(id, moved))
    for tensor in _of(Tensor, tracked):
        if id(tensor._memory) in keys:
            tensor._raw = _shown(tensor._memory, tensor._array(), tensor.stride(), tensor._offset)
    for saved in _of(SavedTensor, tracked):
        if id(saved.storage) in keys and saved.tensor is None and saved.packed is None:
            strides, offset = saved.strides
            saved.raw = _shown(saved.storage, saved.raw, strides, offset)


def _of(kind: type, objects: list) -> list:
    # Not by isinstance, which some objects in the world outside answer with code of their own.
    return [o for o in objects if issubclass(type(o), kind)]


def _shown(storage: Storage, raw, strides, offset: int) -> np.ndarray:
    strides = contiguous_strides(raw.shape) if strides is None else strides
    return strided(elements(storage, raw.dtype), raw.shape, strides, offset)
