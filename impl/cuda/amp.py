"""`torch.cuda.amp`: the deprecated names of mixed precision, from before `torch.amp`."""

from __future__ import annotations

from impl import amp
from impl.core.dtypes import dtype, float16
from impl.core.warning import warn

__all__ = ["GradScaler", "autocast"]


def _warn(name: str) -> None:
    warn(
        f"`torch.cuda.amp.{name}(args...)` is deprecated. Please use "
        f"`torch.amp.{name}('cuda', args...)` instead.",
        FutureWarning,
    )


class autocast(amp.autocast):
    """`torch.amp.autocast("cuda")`, deprecated."""

    def __init__(
        self, enabled: bool = True, dtype: dtype = float16, cache_enabled: bool = True
    ) -> None:
        _warn("autocast")
        super().__init__("cuda", dtype, enabled, cache_enabled)


class GradScaler(amp.GradScaler):
    """`torch.amp.GradScaler("cuda")`, deprecated."""

    def __init__(self, *args, **kwargs) -> None:
        _warn("GradScaler")
        super().__init__("cuda", *args, **kwargs)
