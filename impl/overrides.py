"""`torch.overrides`: questions about objects that take part in functions of torch."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from impl.tensor.tensor import Tensor

__all__ = ["has_torch_function", "is_tensor_like"]


def is_tensor_like(inp: Any) -> bool:
    """Whether an object is a tensor or has `__torch_function__`
    (torch.overrides.is_tensor_like)."""
    return isinstance(inp, Tensor) or hasattr(inp, "__torch_function__")


def has_torch_function(relevant_args: Iterable[Any]) -> bool:
    """Whether functions have to ask one of the arguments: no, as impl asks none of them
    (torch.overrides.has_torch_function)."""
    return False
