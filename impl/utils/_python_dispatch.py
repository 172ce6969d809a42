"""`torch.utils._python_dispatch`: modes and classes that see the operators below autograd."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from impl.core.state import STATE
from impl.dispatch.dispatch_modes import TorchDispatchMode
from impl.dispatch.op_overload import OpOverload
from impl.tensor.dispatching import set_modes
from impl.tensor.tensor import DISPATCHING, Tensor

__all__ = [
    "BaseTorchDispatchMode",
    "TorchDispatchMode",
    "any_torch_dispatch_mode_on_stack",
    "is_in_torch_dispatch_mode",
    "is_traceable_wrapper_subclass",
    "is_traceable_wrapper_subclass_type",
    "return_and_correct_aliasing",
    "transform_subclass",
]


class BaseTorchDispatchMode(TorchDispatchMode):
    """A mode that calls every operator as it is
    (torch.utils._python_dispatch.BaseTorchDispatchMode)."""

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return func(*args, **(kwargs or {}))


def is_in_torch_dispatch_mode(include_infra_modes: bool = True) -> bool:
    """Whether a mode is active."""
    return bool(STATE.dispatch_modes)


def any_torch_dispatch_mode_on_stack() -> bool:
    """Whether a mode is active."""
    return bool(STATE.dispatch_modes)


def _get_current_dispatch_mode() -> Any:
    """The innermost mode, or None."""
    return STATE.dispatch_modes[-1] if STATE.dispatch_modes else None


def _get_current_dispatch_mode_stack() -> list[Any]:
    """The active modes, the innermost last."""
    return list(STATE.dispatch_modes)


@contextmanager
def _disable_current_modes() -> Iterator[list[Any]]:
    """A block in which no mode is active; yields those that were, the innermost first."""
    before = STATE.dispatch_modes
    set_modes(())
    try:
        yield list(reversed(before))
    finally:
        set_modes(before)


def is_traceable_wrapper_subclass_type(t: type) -> bool:
    """Whether a class derived from Tensor says of which tensors it is made."""
    return (
        issubclass(t, Tensor)
        and t is not Tensor
        and hasattr(t, "__tensor_flatten__")
        and hasattr(t, "__tensor_unflatten__")
    )


def is_traceable_wrapper_subclass(t: object) -> bool:
    """Whether a tensor's class says of which tensors it is made."""
    return is_traceable_wrapper_subclass_type(type(t))


def transform_subclass(
    t: Any,
    callback: Callable[[str, Any], Any],
    outer_size: Any = None,
    outer_stride: Any = None,
) -> Any:
    """The wrapper of the results of a function for each tensor of which a wrapper is made.

    Raises AssertionError where its `__tensor_unflatten__` makes a tensor of another size.
    """
    size = t.size() if outer_size is None else outer_size
    stride = t.stride() if outer_stride is None else outer_stride
    names, context = t.__tensor_flatten__()
    inner = {name: callback(name, getattr(t, name)) for name in names}
    result = type(t).__tensor_unflatten__(inner, context, size, stride)
    pairs = ("shape", size, result.shape), ("stride", stride, result.stride())
    for what, wanted, found in pairs:
        if tuple(wanted) != tuple(found):
            raise AssertionError(
                f"Expected return value from {type(t)}__tensor_unflatten__() to have {what} equal "
                f"to {wanted}, but got: {found}"
            )
    return result


def return_and_correct_aliasing(func: OpOverload, args: Any, kwargs: Any, out: Any) -> Any:
    """The answer of a wrapper subclass's handler, whose result is `out`: the argument that an
    operator writes, else the result, which as a view gets the storage of the argument."""
    if func._schema.is_mutable:
        return kwargs.get("out", args[0])
    if func.is_view:
        for alias in out if isinstance(out, (tuple, list)) else (out,):
            if type(alias) in DISPATCHING:
                alias._storage = args[0]._storage
    return out
