"""`torch.backends.cpu`: the vector instructions in use, none by choice."""

from __future__ import annotations

__all__ = ["get_cpu_capability"]


def get_cpu_capability() -> str:
    """DEFAULT: NumPy chooses its instructions itself (torch.backends.cpu.get_cpu_capability)."""
    return "DEFAULT"
