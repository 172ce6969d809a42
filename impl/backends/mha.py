"""`torch.backends.mha`: the flag of the fast path of multi-head attention in evaluation."""

from __future__ import annotations

__all__ = ["get_fastpath_enabled", "set_fastpath_enabled"]

_enabled = True


def get_fastpath_enabled() -> bool:
    """The value last set (torch.backends.mha.get_fastpath_enabled)."""
    return _enabled


def set_fastpath_enabled(value: bool) -> None:
    """Set it (torch.backends.mha.set_fastpath_enabled)."""
    global _enabled
    _enabled = value
