"""Storages as sequences: `torch.UntypedStorage` of bytes, and `torch.TypedStorage`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from impl.core import dtypes
from impl.core.c_methods import of_one_argument, without_arguments
from impl.core.devices import CPU, META, check_device, device, is_meta_device
from impl.core.dtypes import BY_NUMPY, dtype
from impl.core.meta_arrays import is_meta
from impl.core.registry import C, method_of
from impl.core.storage import Storage
from impl.core.warning import warn_once_of_python
from impl.factories.storage_arguments import check_typed, is_size
from impl.kernels.casting import storable
from impl.tensor.tensor import Tensor
from impl.tensor.torch_function import asking

_DEPRECATED = (
    "TypedStorage is deprecated. It will be removed in the future and UntypedStorage will be the "
    "only storage class. This should only matter to you if you are using storages directly.  To "
    "access UntypedStorage directly, use tensor.untyped_storage() instead of tensor.storage()"
)


# -- untyped ------------------------------------------------------------------------------------


def _bytes(self: Storage) -> np.ndarray:
    """The whole memory as bytes."""
    return self.flat.view(np.uint8)


def _place(size: int, index) -> int:
    if not -size <= index < size:
        raise IndexError(f"index {index} out of range for storage of size {size}")
    return index


def _byte(value) -> int:
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)):
        raise RuntimeError(f"fill_ expects int, but got {type(value).__name__}")
    return int(value) & 255


@method_of(Storage)
def size(self) -> int:
    """The number of bytes (torch.UntypedStorage.size)."""
    return self.nbytes()


@method_of(Storage)
def __len__(self) -> int:
    return self.nbytes()


def _require_elements(storage) -> None:
    """Raise NotImplementedError for a storage of the meta device."""
    if storage.device == META:
        raise NotImplementedError("Not available for 'meta' device type")


@method_of(Storage)
def __getitem__(self, index):
    """A byte, or a storage over a range of the bytes."""
    if isinstance(index, slice):
        if index.step not in (None, 1):
            raise RuntimeError(
                f"Trying to slice with a step of {index.step}, but only a step of 1 is supported"
            )
        return Storage(_bytes(self)[index])
    _require_elements(self)
    if isinstance(index, bool) or not isinstance(index, (int, np.integer)):
        raise TypeError(f"can't index a torch.UntypedStorage with {type(index).__name__}")
    return int(_bytes(self)[_place(self.nbytes(), index)])


@method_of(Storage)
def __setitem__(self, index, value) -> None:
    at = index if isinstance(index, slice) else _place(self.nbytes(), index)
    _bytes(self)[at] = _byte(value)


@method_of(Storage)
def __iter__(self) -> Iterator[int]:
    return iter(self.tolist())


@method_of(Storage)
def __bool__(self) -> bool:
    return self.nbytes() > 0


def _shown(storage: Any, kind: str) -> str:
    """The elements of a storage, one a line, and its class and size."""
    values = "..." if storage.device == META else " " + "\n ".join(map(str, storage.tolist()))
    return f"{values}\n[{kind} of size {len(storage)}]"


@method_of(Storage)
def __repr__(self) -> str:
    return _shown(self, f"torch.storage.UntypedStorage(device={self.device})")


@method_of(Storage)
def tolist(self) -> list[int]:
    """The bytes (torch.UntypedStorage.tolist). Raises NotImplementedError on the meta device."""
    _require_elements(self)
    return _bytes(self).tolist()


@method_of(Storage)
@of_one_argument
def fill_(self, value) -> Storage:
    """Set all bytes (torch.UntypedStorage.fill_)."""
    _bytes(self)[:] = _byte(value)
    return self


@method_of(Storage)
def copy_(self, source, non_blocking: bool = False) -> Storage:
    """Copy the bytes of a storage of the same size (torch.UntypedStorage.copy_)."""
    if not isinstance(source, Storage):
        raise TypeError(
            "copy_(): argument 'src' (position 1) must be torch.Storage, "
            f"not {type(source).__name__}"
        )
    _bytes(self)[:] = _bytes(source)
    return self


@method_of(Storage)
def clone(self) -> Storage:
    """A copy with memory of its own (torch.UntypedStorage.clone)."""
    return Storage(_bytes(self).copy())


@method_of(Storage)
def __copy__(self) -> Storage:
    return self.clone()


@method_of(Storage)
def __eq__(self, other) -> bool:
    return isinstance(other, Storage) and self._cdata == other._cdata


@method_of(Storage)
def __hash__(self) -> int:
    return hash(self._cdata)


@method_of(Storage)
@without_arguments
def element_size(self) -> int:
    """One byte."""
    return 1


@method_of(Storage)
@without_arguments
def resizable(self) -> bool:
    """Whether the memory can be replaced, as NumPy's cannot."""
    return self.is_resizable


@method_of(Storage)
def get_device(self) -> None:
    """None, as of any storage on the CPU."""


@method_of(Storage)
def is_pinned(self, device=None) -> bool:
    """False, as of any storage on the CPU."""
    return False


@method_of(Storage)
def _class_name(self, dtype=None, non_blocking: bool = False) -> str:
    """The name of the class (torch.UntypedStorage.type)."""
    return "torch.storage.UntypedStorage"


Storage.type = _class_name  # type: ignore[attr-defined]


@method_of(Storage)
def share_memory_(self) -> Storage:
    """Mark the memory as shared with other processes (torch.UntypedStorage.share_memory_).

    It stays where it is, as there are no other processes here.
    """
    vars(self)["_shared"] = True
    return self


@method_of(Storage)
@without_arguments
def is_shared(self) -> bool:
    """Whether the memory is marked as shared (torch.UntypedStorage.is_shared)."""
    return vars(self).get("_shared", False)


@method_of(Storage)
@without_arguments
def new(self) -> Storage:
    """A storage of no bytes."""
    return Storage(np.empty(0, np.uint8))


Storage.cpu = lambda self: self  # type: ignore[attr-defined]
Storage.untyped = lambda self: self  # type: ignore[attr-defined]
Storage.device = property(lambda self: META if is_meta(self.flat) else CPU)  # type: ignore[attr-defined]
Storage.filename = property(lambda self: None)  # type: ignore[attr-defined]
for _name in ("is_cuda", "is_hpu", "is_sparse", "is_sparse_csr"):
    setattr(Storage, _name, property(lambda self: False))


def _zeros(count: int, dtype: dtype, device) -> Storage:
    """The storage of so many zeros. Raises as `check_device`."""
    if is_meta_device(device):
        return C.empty(count, dtype=dtype, device=device).untyped_storage()
    return Storage(np.zeros(count, dtype.numpy))


class _UntypedType(type(Storage)):  # type: ignore[misc]
    """`torch.UntypedStorage(4)`, `torch.UntypedStorage([1, 2])`, and the class of all storages."""

    def __call__(cls, source: Any = 0, *, device=None) -> Storage:
        if isinstance(source, int):
            return _zeros(source, dtypes.uint8, device)
        if not isinstance(source, Sequence):
            raise RuntimeError(
                f"torch.UntypedStorage(): Expected a sequence type, but got {type(source).__name__}"
            )
        for item in source:
            if not isinstance(item, int):
                raise RuntimeError(
                    "torch.UntypedStorage(): tried to construct a storage from a sequence "
                    f"({type(source).__name__}), but one of the items was of type "
                    f"{type(item).__name__} instead of int"
                )
        return C.tensor(
            [item & 255 for item in source], dtype=dtypes.uint8, device=device
        ).untyped_storage()

    def __instancecheck__(cls, instance) -> bool:
        return isinstance(instance, Storage)


class UntypedStorage(Storage, metaclass=_UntypedType, module="torch.storage"):
    """A sequence of bytes that tensors share (torch.UntypedStorage)."""

    __module__ = "impl.storage"


# -- typed --------------------------------------------------------------------------------------


class TypedStorage:
    """A storage read as elements of one dtype (torch.TypedStorage, deprecated).

    Raises RuntimeError and TypeError as `check_typed`, and TypeError for elements that are no
    numbers.
    """

    __module__ = "impl.storage"

    def __new__(cls, *args, wrap_storage=None, dtype=None, device=None, _internal=False):
        return super().__new__(cls)

    def __init__(
        self, *args, wrap_storage: Any = None, dtype: Any = None, device=None, _internal=False
    ) -> None:
        if not _internal:
            warn_once_of_python(_DEPRECATED)
        check_typed(args, wrap_storage, dtype, device)
        check_device(device)
        self.dtype = dtype or dtypes.get_default_dtype()
        if wrap_storage is not None:
            self._untyped = wrap_storage
        elif args and not is_size(args[0]):
            elements = C.tensor(args[0], dtype=self.dtype, device=device)
            self._untyped = elements.untyped_storage()
        else:
            self._untyped = _zeros(args[0] if args else 0, self.dtype, device)

    @staticmethod
    def _of(untyped: Storage, dtype: dtype) -> TypedStorage:
        """A storage over another, without the warning that the class is deprecated."""
        return TypedStorage(wrap_storage=untyped, dtype=dtype, _internal=True)

    @property
    def _elements(self) -> np.ndarray:
        memory = self._untyped.flat
        kind = self.dtype.numpy
        return memory if memory.dtype == kind else memory.view(np.uint8).view(kind)

    @property
    def device(self) -> device:
        return self._untyped.device  # type: ignore[attr-defined]

    @property
    def is_cuda(self) -> bool:
        return False

    def untyped(self) -> Storage:
        """The storage of bytes."""
        return self._untyped

    def size(self) -> int:
        """The number of elements."""
        return self._elements.size

    def __len__(self) -> int:
        return self.size()

    def nbytes(self) -> int:
        """The number of bytes."""
        return self._untyped.nbytes()

    def element_size(self) -> int:
        """The bytes of one element."""
        return self.dtype.itemsize

    def data_ptr(self) -> int:
        """The address of the first element."""
        return self._untyped.data_ptr()

    def type(self) -> str:
        """The name of the legacy class of storages of this dtype."""
        return f"torch.{self.dtype.legacy}Storage"

    def tolist(self) -> list:
        """The elements as Python numbers. Raises NotImplementedError on the meta device."""
        _require_elements(self)
        wide = self._elements.astype(np.float32) if self.dtype.numpy.kind == "V" else self._elements
        return wide.tolist()

    def __iter__(self) -> Iterator:
        return iter(self.tolist())

    def __getitem__(self, index):
        """One element. Raises RuntimeError for a slice."""
        if isinstance(index, slice):
            raise RuntimeError("slices are only supported in UntypedStorage.__getitem__")
        return self.tolist()[_place(self.size(), index)]

    def __setitem__(self, index, value) -> None:
        at = index if isinstance(index, slice) else _place(self.size(), index)
        self._elements[at] = storable(value, self.dtype.numpy)

    def fill_(self, value) -> TypedStorage:
        """Set all elements."""
        self[:] = value
        return self

    def copy_(self, source: TypedStorage, non_blocking: bool = False) -> TypedStorage:
        """Copy the elements of a storage of the same size."""
        self._elements[:] = source._elements
        return self

    def clone(self) -> TypedStorage:
        """A copy with memory of its own."""
        return self._of(self._untyped.clone(), self.dtype)  # type: ignore[attr-defined]

    __copy__ = clone

    def cpu(self) -> TypedStorage:
        """The storage itself, which is on the CPU already."""
        return self

    def __repr__(self) -> str:
        kind = f"torch.storage.TypedStorage(dtype={self.dtype}, device={self.device})"
        return _shown(self, kind)


@method_of(Tensor)
@asking
def _typed_storage(self) -> TypedStorage:
    return TypedStorage._of(self.untyped_storage(), BY_NUMPY[self._raw.dtype])


@method_of(Tensor)
def storage(self) -> TypedStorage:
    """The memory as elements of the tensor's dtype (torch.Tensor.storage, deprecated)."""
    warn_once_of_python(_DEPRECATED)
    return self._typed_storage()
