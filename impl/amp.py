"""`torch.amp`."""

from impl.autocast import autocast

__all__ = ["autocast"]
