"""`torch.distributed`, the library for several processes, which impl does not have."""

from __future__ import annotations

__all__ = ["is_available"]


def is_available() -> bool:
    """False (torch.distributed.is_available)."""
    return False


class _Stub:
    """A class of communication, without instances: there is one process."""


# A torch that was built without torch.distributed has these two names, for annotations.
GroupName = ProcessGroup = _Stub
