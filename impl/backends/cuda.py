"""`torch.backends.cuda`: the flags of CUDA's libraries, which impl does not use."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace

__all__ = ["is_built", "matmul"]

matmul = SimpleNamespace(
    allow_tf32=False,
    allow_fp16_reduced_precision_reduction=True,
    allow_bf16_reduced_precision_reduction=True,
    allow_fp16_accumulation=False,
)


def is_built() -> bool:
    """False (torch.backends.cuda.is_built)."""
    return False


def _switch(what: str) -> tuple[Callable[[], bool], Callable[[bool], None]]:
    """The getter and the setter of a flag without effect."""
    value = True

    def enabled() -> bool:
        return value

    def enable(enabled: bool) -> None:
        nonlocal value
        value = bool(enabled)

    enabled.__doc__ = f"The value last set of a flag without effect (torch.backends.cuda.{what})."
    enable.__doc__ = f"Keep the value, without effect (torch.backends.cuda.enable_{what})."
    return enabled, enable


# The kernels of scaled_dot_product_attention that a program allows; impl has one kernel.
flash_sdp_enabled, enable_flash_sdp = _switch("flash_sdp")
mem_efficient_sdp_enabled, enable_mem_efficient_sdp = _switch("mem_efficient_sdp")
math_sdp_enabled, enable_math_sdp = _switch("math_sdp")
cudnn_sdp_enabled, enable_cudnn_sdp = _switch("cudnn_sdp")
