"""`torch.backends.mps`, which impl does not use."""

from __future__ import annotations

__all__ = ["is_available", "is_built"]


def is_available() -> bool:
    """False (torch.backends.mps.is_available)."""
    return False


def is_built() -> bool:
    """False (torch.backends.mps.is_built)."""
    return False
