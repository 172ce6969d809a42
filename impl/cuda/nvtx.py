"""`torch.cuda.nvtx`: marks in the profiles of NVIDIA's tools, which are not there."""

from impl.core.absent_devices import refusals

_FUNCTIONS = refusals(
    "mark range range_end range_pop range_push range_start",
    RuntimeError,
    "NVTX functions not installed. Are you sure you have a CUDA build?",
)
globals().update(_FUNCTIONS)
__all__ = list(_FUNCTIONS)
