"""`torch.backends`: the flags of libraries for other devices, all of them unavailable.

Flags keep the values that programs assign, without effect.
"""

from __future__ import annotations

import sys
import types


class _Backend(types.ModuleType):
    """A library: its availability, and its flags as attributes; it can be imported."""

    def __init__(self, name: str, **switches: bool) -> None:
        super().__init__(f"{__name__}.{name}")
        self.__dict__.update(switches)
        sys.modules[self.__name__] = self

    def is_available(self) -> bool:
        """False: no backend is available."""
        return False


cudnn = _Backend("cudnn", enabled=True, benchmark=False, deterministic=False, allow_tf32=True)
cuda = _Backend("cuda")
mps = _Backend("mps")
mps.is_built = mps.is_available  # type: ignore[attr-defined]
cuda.is_built = cuda.is_available  # type: ignore[attr-defined]

__all__ = ["cuda", "cudnn", "mps"]
