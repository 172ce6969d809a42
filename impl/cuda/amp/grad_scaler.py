"""`torch.cuda.amp.GradScaler`, deprecated."""

from __future__ import annotations

from impl import amp
from impl.core.warning import warn

__all__ = ["GradScaler"]


class GradScaler(amp.GradScaler):
    """`torch.amp.GradScaler("cuda")`, deprecated."""

    def __init__(self, *args, **kwargs) -> None:
        warn(
            "`torch.cuda.amp.GradScaler(args...)` is deprecated. Please use "
            "`torch.amp.GradScaler('cuda', args...)` instead.",
            FutureWarning,
        )
        super().__init__("cuda", *args, **kwargs)
