"""`torch.backends`: libraries for other devices, none of which is here.

What programs switch on them is kept, and changes nothing.
"""

from __future__ import annotations


class _Backend:
    """One library: whether it is there, and its switches."""

    def __init__(self, **switches: bool) -> None:
        self.__dict__.update(switches)

    def is_available(self) -> bool:
        """False."""
        return False


cudnn = _Backend(enabled=True, benchmark=False, deterministic=False, allow_tf32=True)
cuda = _Backend()
mps = _Backend()
mps.is_built = mps.is_available  # type: ignore[attr-defined]
cuda.is_built = cuda.is_available  # type: ignore[attr-defined]

__all__ = ["cuda", "cudnn", "mps"]
