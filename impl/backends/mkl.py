"""`torch.backends.mkl`, which impl does not use."""

from __future__ import annotations

__all__ = ["is_available"]


def is_available() -> bool:
    """False (torch.backends.mkl.is_available)."""
    return False
