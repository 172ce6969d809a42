"""The legacy classes of storages, one for each dtype: `torch.FloatStorage`."""

from __future__ import annotations

from impl.core import dtypes
from impl.core.dtypes import BY_NUMPY, dtype
from impl.core.named_types import NamedType
from impl.core.registry import method_of
from impl.factories.storage_arguments import check_legacy
from impl.factories.storages import TypedStorage
from impl.tensor.tensor import Tensor


class _LegacyStorageType(NamedType):
    """`torch.FloatStorage` and its like: callable, and the class of the storages of one dtype."""

    dtype: dtype

    def __call__(cls, *args, **named) -> TypedStorage:
        return _new_legacy(cls, *args, **named)

    def __instancecheck__(cls, instance) -> bool:
        return isinstance(instance, TypedStorage) and instance.dtype is cls.dtype


def _new_legacy(cls, *args, wrap_storage=None, dtype=None, device=None, _internal=False):
    """A storage of the dtype of a legacy class. Raises as `check_legacy`."""
    check_legacy(cls, args, wrap_storage, dtype, device)
    return TypedStorage(*args, wrap_storage=wrap_storage, dtype=cls.dtype)


_new_legacy.__qualname__ = "TypedStorage.__new__"  # which Python's messages name


def _legacy(kind: dtype) -> _LegacyStorageType:
    name = f"{kind.legacy}Storage"
    body = {"dtype": kind, "__module__": "impl", "__qualname__": name}
    return _LegacyStorageType(name, (), body)


LEGACY_STORAGES = {f"{d.legacy}Storage": _legacy(d) for d in dtypes.ALL}


@method_of(Tensor)
def storage_type(self) -> type:
    """The legacy class of the storage (torch.Tensor.storage_type)."""
    return LEGACY_STORAGES[f"{BY_NUMPY[self._raw.dtype].legacy}Storage"]
