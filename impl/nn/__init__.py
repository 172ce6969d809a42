"""`torch.nn`: so far its functional form."""

from impl.nn import functional

__all__ = ["functional"]
