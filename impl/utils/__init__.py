"""`torch.utils`: checkpointing, hooks, and swapping of tensors."""

from impl.utils import checkpoint, hooks
from impl.utils.swapping import swap_tensors

__all__ = ["checkpoint", "hooks", "swap_tensors"]
