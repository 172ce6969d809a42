"""`torch.backends`: the flags of libraries for other devices, all of them unavailable.

Flags keep the values that programs assign, without effect.
"""

from __future__ import annotations


class _Backend:
    """A library: its availability, and its flags as attributes."""

    def __init__(self, **switches: bool) -> None:
        self.__dict__.update(switches)

    def is_available(self) -> bool:
        """False: no backend is available."""
        return False


cudnn = _Backend(enabled=True, benchmark=False, deterministic=False, allow_tf32=True)
cuda = _Backend()
mps = _Backend()
mps.is_built = mps.is_available  # type: ignore[attr-defined]
cuda.is_built = cuda.is_available  # type: ignore[attr-defined]

__all__ = ["cuda", "cudnn", "mps"]
