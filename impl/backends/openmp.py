"""`torch.backends.openmp`, which impl does not use."""

from __future__ import annotations

__all__ = ["is_available"]


def is_available() -> bool:
    """False (torch.backends.openmp.is_available)."""
    return False
