"""`torch.autograd.grad_mode`: grad modes as context managers and decorators."""

from impl.core.grad_mode import (
    _force_original_view_tracking,
    enable_grad,
    enforce_grad_layout_policy,
    inference_mode,
    no_grad,
    set_grad_enabled,
    set_multithreading_enabled,
)
from impl.core.registry import name_home

__all__ = [
    "_force_original_view_tracking",
    "enable_grad",
    "enforce_grad_layout_policy",
    "inference_mode",
    "no_grad",
    "set_grad_enabled",
    "set_multithreading_enabled",
]


name_home(globals())
