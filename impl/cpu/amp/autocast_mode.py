"""Autocast by the deprecated names of `torch.cpu.amp`."""

from __future__ import annotations

from impl import amp
from impl.amp.deprecated_names import warn_deprecated
from impl.core.dtypes import bfloat16, dtype

__all__ = ["autocast"]


class autocast(amp.autocast):
    """`torch.amp.autocast("cpu")`, deprecated."""

    def __init__(
        self, enabled: bool = True, dtype: dtype = bfloat16, cache_enabled: bool = True
    ) -> None:
        warn_deprecated("cpu", "autocast")
        super().__init__("cpu", dtype, enabled, cache_enabled)
