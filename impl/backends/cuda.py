"""`torch.backends.cuda`: the flags of CUDA's libraries, which impl does not use, and the kernels of
attention, which hold for the CPU, too."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace

from impl.operators.layers.attention_kernels import ALLOWED

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


def _switch(kernel: str) -> tuple[Callable[[], bool], Callable[[bool], None]]:
    """The getter and the setter of a flag of `scaled_dot_product_attention`."""

    def enabled() -> bool:
        return ALLOWED[kernel]

    def enable(enabled: bool) -> None:
        ALLOWED[kernel] = bool(enabled)

    enabled.__doc__ = f"Whether attention may take this kernel (torch.backends.cuda.{kernel}_sdp)."
    enable.__doc__ = f"Allow or forbid the kernel (torch.backends.cuda.enable_{kernel}_sdp)."
    return enabled, enable


flash_sdp_enabled, enable_flash_sdp = _switch("flash")
mem_efficient_sdp_enabled, enable_mem_efficient_sdp = _switch("mem_efficient")
math_sdp_enabled, enable_math_sdp = _switch("math")
cudnn_sdp_enabled, enable_cudnn_sdp = _switch("cudnn")
