"""`torch.library`: operators of a program's own."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from impl.library.custom_op import OPERATORS, CustomOpDef, custom_op
from impl.library.schema import infer_schema

__all__ = [
    "CustomOpDef",
    "custom_op",
    "infer_schema",
    "register_autocast",
    "register_autograd",
    "register_fake",
    "register_kernel",
    "register_vmap",
]

for _public in (custom_op, infer_schema):
    _public.__module__ = __name__


def _found(op: Any) -> CustomOpDef:
    """The definition of an operator. Raises RuntimeError where there is none."""
    if isinstance(op, CustomOpDef):
        return op
    name = op if isinstance(op, str) else op.name()
    if name not in OPERATORS:
        raise RuntimeError(f"Could not find the operator {name}: it was not made by custom_op.")
    return OPERATORS[name]


def register_kernel(
    op: Any, device_types: Any, func: Callable | None = None, /, *, lib: Any = None
) -> Callable:
    """See `CustomOpDef.register_kernel` (torch.library.register_kernel)."""
    return _found(op).register_kernel(device_types, func)


def register_fake(op: Any, func: Callable | None = None, /, *, lib: Any = None) -> Callable:
    """See `CustomOpDef.register_fake` (torch.library.register_fake)."""
    register = _found(op).register_fake
    return register if func is None else register(func)


def register_autograd(
    op: Any, backward: Callable, /, *, setup_context: Callable | None = None, lib: Any = None
) -> None:
    """See `CustomOpDef.register_autograd` (torch.library.register_autograd)."""
    _found(op).register_autograd(backward, setup_context=setup_context)


def register_vmap(op: Any, func: Callable | None = None, /, *, lib: Any = None) -> Callable | None:
    """See `CustomOpDef.register_vmap` (torch.library.register_vmap)."""
    return _found(op).register_vmap(func)


def register_autocast(
    op: Any, device_type: str, cast_inputs: Any, /, *, lib: Any = None
) -> Callable:
    """See `CustomOpDef.register_autocast` (torch.library.register_autocast)."""
    return _found(op).register_autocast(device_type, cast_inputs)
