"""`torch.amp`: autocast and gradient scaling."""

from impl.amp import autocast_mode, grad_scaler
from impl.amp.autocast_mode import autocast, custom_bwd, custom_fwd, is_autocast_available
from impl.amp.grad_scaler import GradScaler

__all__ = [
    "GradScaler",
    "autocast",
    "autocast_mode",
    "custom_bwd",
    "custom_fwd",
    "grad_scaler",
    "is_autocast_available",
]
