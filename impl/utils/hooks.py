"""`torch.utils.hooks`."""

from impl.hooks import RemovableHandle

__all__ = ["RemovableHandle"]
