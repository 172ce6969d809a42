"""`torch.storage`: the memory of tensors."""

from impl.factories import storage_conversions  # noqa: F401 (it defines methods)
from impl.factories.storages import TypedStorage, UntypedStorage

__all__ = ["TypedStorage", "UntypedStorage"]
