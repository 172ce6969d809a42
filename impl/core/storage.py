"""Storages: a buffer with one version counter (c10/core/StorageImpl)."""

from __future__ import annotations

from typing import Any

import numpy as np

from impl.core import messages
from impl.core.c_methods import without_arguments
from impl.core.meta_arrays import MetaArray
from impl.core.named_types import NamedType
from impl.core.wrapper_arrays import WrapperArray


def _keep_freed_memory() -> None:
    """Have the C library keep the memory of temporary arrays, up to 64 MB.

    glibc gives the end of its heap back, and maps large arrays anew, whose pages are faulted in
    again and again, until a larger array has been freed (mallopt(3), M_MMAP_THRESHOLD). The one
    here is the largest that counts; it is never touched, and costs nothing.
    """
    np.empty(2**25 - 2**13, np.uint8)


_keep_freed_memory()


class Storage(metaclass=NamedType, module="torch.storage"):
    """A buffer shared by a tensor, its views and its detached aliases, with one version counter.

    `buffer` identifies the memory: two storages over the same buffer alias each other but have
    separate version counters, as `.data` requires. The buffer of a 0-dim tensor is a NumPy scalar
    until it is shared or written, because arithmetic on scalars is many times cheaper than on 0-d
    arrays.
    """

    __module__ = "impl.storage"
    __qualname__ = "UntypedStorage"

    _c_class = "StorageBase"
    version = 0
    is_resizable = True  # unless NumPy has the memory, too
    altered = False  # whether `.data` was replaced by a tensor of another dtype or shape
    _flat: Any = None
    _identity: Any = None

    def __init__(self, buffer) -> None:
        self.buffer = buffer

    def sharing(self) -> Storage:
        """A storage over the same buffer with a separate version counter, for `.data`."""
        if not isinstance(self.buffer, np.ndarray):
            self.buffer = np.array(self.buffer)
        other = Storage(self.buffer)
        other._identity = self._identity
        other.is_resizable = self.is_resizable
        return other

    def move(self, flat: np.ndarray) -> None:
        """Replace the buffer by `flat` and keep the identity of the storage, as resize_ does."""
        if self._identity is None:
            self._identity = self.buffer
        self.buffer = self._flat = flat
        if type(self) is Storage:
            self.__class__ = MovedStorage

    def end_after(self, rest: np.ndarray) -> None:
        """Let the memory be its part `rest`, as resize_ does to fewer bytes."""
        self._flat = rest

    @property
    def flat(self) -> np.ndarray:
        """The whole memory as one 1-d array, in address order."""
        if self._flat is None:
            buffer = self.buffer
            if not isinstance(buffer, np.ndarray):
                buffer = self.buffer = np.array(buffer)
            flat = buffer.reshape(-1) if buffer.flags.c_contiguous else buffer.ravel("K")
            self._flat = _memory_of_view(buffer) if flat.base is None else flat
        return self._flat

    # The identity of a storage (UntypedStorage._cdata).
    @property
    def _cdata(self) -> int:
        if self._identity is not None:
            return id(self._identity)
        return id(self.buffer if isinstance(self.buffer, np.ndarray) else self.flat)

    @without_arguments
    def data_ptr(self) -> int:
        """The address of the first element; 0 for no elements, and on the meta device.

        Raises RuntimeError for the storage of a wrapper subclass.
        """
        if type(self.buffer) is WrapperArray:
            raise RuntimeError(messages.NO_MEMORY)
        if type(self.flat) is MetaArray:
            return 0
        return address(self.flat) if self.flat.size else 0

    @without_arguments
    def nbytes(self) -> int:
        """The size of the whole memory in bytes."""
        return self.flat.nbytes


class MovedStorage(Storage, module="torch.storage"):
    """A storage after `move`: its buffer is not the array of the tensor that created it."""

    __module__ = "impl.storage"
    __qualname__ = "UntypedStorage"


def _memory_of_view(array):
    """The memory of an array that is a view with gaps, from its first element on."""
    owner = owner_of(array)
    if type(array) is MetaArray:
        return owner.reshape(-1)
    memory = owner.ravel("K").view(np.ndarray)
    start = address(array) - address(owner)
    size = (memory.nbytes - start) // array.itemsize * array.itemsize
    return memory.view(np.uint8)[start : start + size].view(array.dtype)


class Replaced(Storage, module="torch.storage"):
    """The storage after an assignment to `.data`: new memory, the old version counter."""

    __module__ = "impl.storage"
    __qualname__ = "UntypedStorage"

    def __init__(self, memory: Storage, origin: Storage, altered: bool = False) -> None:
        self._origin = origin
        self.altered = altered or origin.altered
        version = origin.version
        super().__init__(memory.buffer)
        self._identity = memory._identity
        self.version = version

    @property
    def version(self) -> int:  # type: ignore[override]
        return self._origin.version

    @version.setter
    def version(self, value: int) -> None:
        self._origin.version = value


class Memory:
    """An object with the array interface that describes a strided view of an array's memory.

    It keeps the array alive.
    """

    __slots__ = ("__array_interface__", "owner")

    def __init__(self, owner: np.ndarray, start: int, shape, strides) -> None:
        self.owner = owner
        self.__array_interface__ = {
            "data": (start, False),
            "shape": tuple(shape),
            "strides": tuple(strides),
            "typestr": owner.dtype.str,
            "version": 3,
        }


def address(array: np.ndarray) -> int:
    """The address of an array's first element; of a MetaArray's, its place in its memory."""
    if type(array) is MetaArray:
        return array.start
    return array.__array_interface__["data"][0]


def owner_of(array: np.ndarray):
    """The array that owns the memory of a view, by NumPy or by `Memory`; None for no view."""
    owner: Any = array.base
    while True:
        if isinstance(owner, Memory):
            owner = owner.owner
        elif getattr(owner, "base", None) is not None:  # an array, or as_strided's proxy
            owner = owner.base
        else:
            return owner
