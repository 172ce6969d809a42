"""`torch.backends.cudnn`, which impl does not use: its flags."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

__all__ = ["flags", "is_acceptable", "is_available", "version"]

enabled = True
benchmark = False
benchmark_limit: int | None = None
deterministic = False
allow_tf32 = True
fp32_precision = "none"


def is_available() -> bool:
    """False (torch.backends.cudnn.is_available)."""
    return False


def is_acceptable(tensor: Any) -> bool:
    """False, of any tensor (torch.backends.cudnn.is_acceptable)."""
    return False


def version() -> int | None:
    """None (torch.backends.cudnn.version)."""
    return None


@contextmanager
def flags(
    enabled: bool = False,
    benchmark: bool = False,
    benchmark_limit: int = 10,
    deterministic: bool = False,
    allow_tf32: bool = True,
    fp32_precision: str = "none",
    depthwise_kernel: str = "auto",
) -> Iterator[None]:
    """Set the flags for a block, and restore them (torch.backends.cudnn.flags)."""
    new = {
        "enabled": enabled,
        "benchmark": benchmark,
        "deterministic": deterministic,
        "allow_tf32": allow_tf32,
    }
    old = {name: globals()[name] for name in new}
    globals().update(new)
    try:
        yield
    finally:
        globals().update(old)
