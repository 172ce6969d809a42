"""`torch.utils`: checkpointing, hooks, and swapping of tensors."""

from impl.utils import _pytree, checkpoint, data, dlpack, hooks
from impl.utils.swapping import swap_tensors

__all__ = ["_pytree", "checkpoint", "data", "dlpack", "hooks", "swap_tensors"]
