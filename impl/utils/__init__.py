"""`torch.utils`: checkpointing, hooks, and swapping of tensors."""

from impl.utils import _pytree, checkpoint, hooks
from impl.utils.swapping import swap_tensors

__all__ = ["_pytree", "checkpoint", "hooks", "swap_tensors"]
