"""The kernel for autocast of an operator of a program (torch.library.register_autocast)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from impl.core.dtypes import dtype, float64
from impl.dispatch.autocast import autocast
from impl.tensor.nested import each
from impl.tensor.tensor import Tensor


def called(op: Callable, device_type: str, wanted: dtype, args: tuple, named: dict) -> Any:
    """The result of an operator with autocast off, for arguments that are cast."""
    with autocast(device_type, enabled=False):
        return op(*each(lambda value: _cast(value, wanted), args), **named)


def _cast(value: Any, wanted: dtype) -> Any:
    is_eligible = isinstance(value, Tensor) and value.is_floating_point()
    return value.to(wanted) if is_eligible and value.dtype is not float64 else value
