"""`torch.utils`."""

from impl.utils import checkpoint, hooks
from impl.utils.swapping import swap_tensors

__all__ = ["checkpoint", "hooks", "swap_tensors"]
