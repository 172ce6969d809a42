"""`torch.signal`: windows of signal processing."""

from impl.signal import windows

__all__ = ["windows"]
