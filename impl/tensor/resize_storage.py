"""Resizing of a storage, with an update of everything that refers to it (UntypedStorage.resize_).

NumPy cannot enlarge an array that has views. So new memory is allocated, and all references to the
old one, in views, detached aliases and saved outputs of nodes, are found and redirected.
"""

from __future__ import annotations

import gc
from typing import Any

import numpy as np

from impl.core import context
from impl.core.c_methods import of_one_argument
from impl.core.integers import is_integer
from impl.core.meta_arrays import MetaArray, is_meta
from impl.core.ownership import is_unshared
from impl.core.registry import method_of
from impl.core.storage import Storage
from impl.core.strides import contiguous_strides, extent, strided
from impl.tensor.geometry import elements
from impl.tensor.tensor import Tensor

# The classes that refer to a storage, each with a method `_follow(moved)`; higher layers append.
HOLDERS: list[type] = [Tensor]


def resize_storage(storage: Storage, size: int) -> None:
    """Replace the memory by `size` elements, which begin with the current ones.

    Raises RuntimeError for memory that NumPy has, too.
    """
    _require_resizable(storage)
    flat, shared = storage.flat, storage.buffer
    if is_meta(flat):
        grown: Any = MetaArray((size,), flat.dtype)
    else:
        grown = np.zeros(size, flat.dtype)
        grown[: flat.size] = flat
        if context.fills_uninitialised():
            context.fill_uninitialised(grown[flat.size :])
    # No other references: one tensor refers to the storage; the tensor, the storage and the flat
    # view refer to the buffer, which may be the flat view itself.
    if is_unshared(storage, holders=1) and is_unshared(shared, holders=3 + (flat is shared)):
        storage.move(grown)
        return
    referring = _instances((Storage, *HOLDERS))
    # Several storages may have the same buffer: `.data` has its own, with its own version counter.
    moved = [s for s in referring if isinstance(s, Storage) and s.buffer is shared]
    for other in moved:
        other.move(grown)
    keys = set(map(id, moved))
    for one in referring:
        if not isinstance(one, Storage):
            one._follow(keys)


def _instances(kinds: tuple[type, ...]) -> list:
    """All objects of these classes."""
    tracked = gc.get_objects()
    # By type, which are few. Not isinstance, which runs code of foreign objects that define
    # `__class__`.
    types = {kind for kind in set(map(type, tracked)) if issubclass(kind, kinds)}
    return [one for one in tracked if type(one) in types]


@method_of(Tensor)
def _follow(self, moved: set[int]) -> None:
    """Refer to the new memory if the tensor's storage is among those `moved` (by `id`)."""
    if id(self._memory) in moved:
        self._raw = window(self._memory, self._array(), self.stride(), self._offset)


@method_of(Storage)
@of_one_argument
def resize_(self, size: int) -> Storage:
    """Change the number of bytes; tensors for which there are too few keep theirs until there are
    enough again (torch.UntypedStorage.resize_).

    Raises RuntimeError for anything but a number, and for memory that NumPy has, too.
    """
    if not is_integer(size):
        raise RuntimeError(f"resize_ expects an int, but got {type(size).__name__}")
    if size < 0:
        raise RuntimeError(
            "[enforce fail at alloc_cpu.cpp:98] ((ptrdiff_t)nbytes) >= 0. alloc_cpu() seems to "
            f"have been called with negative number: {2**64 + size}"
        )
    if size > self.nbytes():
        resize_storage(self, -(-size // self.flat.itemsize))
    _require_resizable(self)
    if size < self.nbytes():
        _shrink(self, size)
    return self


def _require_resizable(storage: Storage) -> None:
    if not storage.is_resizable:
        raise RuntimeError("Trying to resize storage that is not resizable")


def _shrink(storage: Storage, size: int) -> None:
    """Let all storages of the memory end after some bytes of it."""
    if is_meta(storage.flat):
        rest: Any = MetaArray((size,), np.dtype(np.uint8))
    else:
        rest = storage.flat.view(np.uint8)[:size]
        if size % storage.flat.itemsize == 0:
            rest = rest.view(storage.flat.dtype)
    for other in _instances((Storage,)):
        if other.buffer is storage.buffer:
            other.end_after(rest)


def window(storage: Storage, raw, strides, offset: int) -> np.ndarray:
    """The elements in the storage of a tensor that has `raw`; those if there are too few."""
    strides = contiguous_strides(raw.shape) if strides is None else strides
    memory = elements(storage, raw.dtype)
    if raw.size and offset + extent(raw.shape, strides) > memory.size:
        return raw
    return strided(memory, raw.shape, strides, offset)
