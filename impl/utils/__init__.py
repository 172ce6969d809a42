"""`torch.utils`: checkpointing, hooks, and swapping of tensors."""

from impl.utils import (
    _python_dispatch,
    _pytree,
    checkpoint,
    data,
    deterministic,
    dlpack,
    hooks,
    weak,
)
from impl.utils.swapping import swap_tensors

__all__ = [
    "_python_dispatch",
    "_pytree",
    "checkpoint",
    "data",
    "deterministic",
    "dlpack",
    "hooks",
    "swap_tensors",
    "weak",
]
