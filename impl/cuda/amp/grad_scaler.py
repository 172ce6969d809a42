"""`torch.cuda.amp.GradScaler`, deprecated."""

from __future__ import annotations

from impl import amp
from impl.amp.deprecated_names import warn_deprecated

__all__ = ["GradScaler"]


class GradScaler(amp.GradScaler):
    """`torch.amp.GradScaler("cuda")`, deprecated."""

    def __init__(self, *args, **kwargs) -> None:
        warn_deprecated("cuda", "GradScaler")
        super().__init__("cuda", *args, **kwargs)
