"""Storages of other dtypes, devices and sizes: methods of `torch.TypedStorage`, and of
`torch.UntypedStorage`."""

from __future__ import annotations

from typing import Any

import numpy as np

from impl.core import dtypes
from impl.core.devices import device as device_of
from impl.core.dtypes import dtype
from impl.core.registry import method_of
from impl.core.storage import Storage
from impl.factories.storages import TypedStorage

_KINDS = {
    **{"bool": dtypes.bool_, "byte": dtypes.uint8, "char": dtypes.int8, "short": dtypes.int16},
    **{"int": dtypes.int32, "long": dtypes.int64, "half": dtypes.float16},
    **{"bfloat16": dtypes.bfloat16, "float": dtypes.float32, "double": dtypes.float64},
    **{"complex_float": dtypes.complex64, "complex_double": dtypes.complex128},
}


def _converted(elements: np.ndarray, kind: dtype) -> TypedStorage:
    """A new storage of another dtype, or of the same."""
    return TypedStorage._of(Storage(elements.astype(kind.numpy)), kind)


for _name, _target in _KINDS.items():
    setattr(TypedStorage, _name, lambda self, kind=_target: _converted(self._elements, kind))
    setattr(Storage, _name, lambda self, kind=_target: _converted(self.flat.view(np.uint8), kind))


def _of_untyped(name: str) -> Any:
    """The method that calls the one of the storage of bytes."""
    return lambda self, *args, **named: getattr(self.untyped(), name)(*args, **named)


for _name in ("get_device", "is_pinned", "is_shared", "resizable"):
    setattr(TypedStorage, _name, _of_untyped(_name))
TypedStorage.filename = property(lambda self: None)  # type: ignore[attr-defined]
TypedStorage.is_hpu = TypedStorage.is_sparse = property(lambda self: False)  # type: ignore[attr-defined]


@method_of(TypedStorage)
def share_memory_(self) -> TypedStorage:
    """Mark the memory as shared with other processes (torch.TypedStorage.share_memory_)."""
    self.untyped().share_memory_()
    return self


@method_of(TypedStorage)
def resize_(self, size) -> None:
    """Change the number of elements (torch.TypedStorage.resize_)."""
    self.untyped().resize_(size * self.element_size())


@method_of(TypedStorage)
def pickle_storage_type(self) -> str:
    """The name of the class by which files refer to storages of this dtype."""
    return f"{self.dtype.legacy}Storage"


def _moved(self, *, device, non_blocking: bool = False):
    """The storage, which is on the device already. Raises AssertionError for another one."""
    kind = device_of(device)
    if kind != self.device:
        raise AssertionError(f"{kind.type.upper()} device module is not loaded")
    return self


_moved.__qualname__ = "_StorageBase.to"


def _typed_moved(self, *, device, non_blocking: bool = False) -> TypedStorage:
    return TypedStorage._of(_moved(self.untyped(), device=device), self.dtype)


_typed_moved.__qualname__ = "TypedStorage.to"
resize_.__qualname__ = "TypedStorage.resize_"
_moved.__name__ = _typed_moved.__name__ = "to"
Storage.to, TypedStorage.to = _moved, _typed_moved  # type: ignore[attr-defined]
