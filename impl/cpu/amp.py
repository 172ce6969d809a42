"""`torch.cpu.amp`: the deprecated names of mixed precision, from before `torch.amp`."""

from __future__ import annotations

from impl import amp
from impl.core.dtypes import bfloat16, dtype
from impl.core.warning import warn

__all__ = ["GradScaler", "autocast"]


def _warn(name: str) -> None:
    warn(
        f"`torch.cpu.amp.{name}(args...)` is deprecated. Please use "
        f"`torch.amp.{name}('cpu', args...)` instead.",
        FutureWarning,
    )


class autocast(amp.autocast):
    """`torch.amp.autocast("cpu")`, deprecated."""

    def __init__(
        self, enabled: bool = True, dtype: dtype = bfloat16, cache_enabled: bool = True
    ) -> None:
        _warn("autocast")
        super().__init__("cpu", dtype, enabled, cache_enabled)


class GradScaler(amp.GradScaler):
    """`torch.amp.GradScaler("cpu")`, deprecated."""

    def __init__(self, *args, **kwargs) -> None:
        _warn("GradScaler")
        super().__init__("cpu", *args, **kwargs)
