"""`torch.cpu.amp`: the deprecated names of mixed precision, from before `torch.amp`."""

from impl.cpu.amp.autocast_mode import autocast
from impl.cpu.amp.grad_scaler import GradScaler

__all__ = ["GradScaler", "autocast"]
