"""`torch.backends.mkldnn`, which impl does not use."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["deterministic", "enabled", "flags", "is_available"]

enabled = True
deterministic = False


def is_available() -> bool:
    """False (torch.backends.mkldnn.is_available)."""
    return False


@contextmanager
def flags(
    enabled: bool = False,
    deterministic: bool = False,
    allow_tf32: bool = True,
    fp32_precision: str = "none",
) -> Iterator[None]:
    """A block without effect (torch.backends.mkldnn.flags)."""
    yield
