"""Autocast by the deprecated names of `torch.cuda.amp`."""

from __future__ import annotations

from impl import amp
from impl.amp.deprecated_names import warn_deprecated
from impl.core.dtypes import dtype, float16
from impl.core.warning import deprecated

__all__ = ["autocast", "custom_bwd", "custom_fwd"]


class autocast(amp.autocast):
    """`torch.amp.autocast("cuda")`, deprecated."""

    def __init__(
        self, enabled: bool = True, dtype: dtype = float16, cache_enabled: bool = True
    ) -> None:
        warn_deprecated("cuda", "autocast")
        super().__init__("cuda", dtype, enabled, cache_enabled)


@deprecated(
    "`torch.cuda.amp.custom_fwd(args...)` is deprecated. Please use "
    "`torch.amp.custom_fwd(args..., device_type='cuda')` instead."
)
def custom_fwd(fwd=None, *, cast_inputs: dtype | None = None):
    """`torch.amp.custom_fwd` for CUDA, deprecated."""
    return amp.custom_fwd(fwd, device_type="cuda", cast_inputs=cast_inputs)


@deprecated(
    "`torch.cuda.amp.custom_bwd(args...)` is deprecated. Please use "
    "`torch.amp.custom_bwd(args..., device_type='cuda')` instead."
)
def custom_bwd(bwd):
    """`torch.amp.custom_bwd` for CUDA, deprecated."""
    return amp.custom_bwd(bwd, device_type="cuda")
