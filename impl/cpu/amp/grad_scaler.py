"""`torch.cpu.amp.GradScaler`, deprecated."""

from __future__ import annotations

from impl import amp
from impl.core.warning import warn

__all__ = ["GradScaler"]


class GradScaler(amp.GradScaler):
    """`torch.amp.GradScaler("cpu")`, deprecated."""

    def __init__(self, *args, **kwargs) -> None:
        warn(
            "`torch.cpu.amp.GradScaler(args...)` is deprecated. Please use "
            "`torch.amp.GradScaler('cpu', args...)` instead.",
            FutureWarning,
        )
        super().__init__("cpu", *args, **kwargs)
