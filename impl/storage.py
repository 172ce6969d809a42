"""`torch.storage`: the memory of tensors."""

from impl.factories.storages import TypedStorage, UntypedStorage

__all__ = ["TypedStorage", "UntypedStorage"]
