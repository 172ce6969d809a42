"""`torch.overrides`: functions of a program's own that other classes may take over."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Iterable
from typing import Any

from impl.core.c_methods import function_of_one_argument
from impl.dispatch.op_overload import OpOverload, OpOverloadPacket
from impl.tensor import overridable
from impl.tensor.function_modes import BaseTorchFunctionMode as BaseTorchFunctionMode
from impl.tensor.function_modes import TorchFunctionMode as TorchFunctionMode
from impl.tensor.tensor import Tensor
from impl.tensor.torch_function import handle_torch_function, kept_getters

_NAMESPACES = (
    "torch",
    "torch.functional",
    "torch.nn.functional",
    "torch.nn.init",
    "torch.Tensor",
    "torch.linalg",
    "torch.fft",
    "torch.special",
)

__all__ = [
    "handle_torch_function",
    "has_torch_function",
    "is_tensor_like",
    "is_tensor_method_or_property",
    "resolve_name",
    "wrap_torch_function",
]


def is_tensor_like(inp: Any) -> bool:
    """Whether an object is a tensor or has `__torch_function__`
    (torch.overrides.is_tensor_like)."""
    return isinstance(inp, Tensor) or hasattr(inp, "__torch_function__")


@function_of_one_argument("torch._C._has_torch_function")
def has_torch_function(relevant_args: Iterable[Any]) -> bool:
    """Whether a mode is active, or the class of one of the arguments takes functions over
    (torch.overrides.has_torch_function)."""
    if not isinstance(relevant_args, Iterable):
        raise TypeError("expected a sequence")
    return overridable.has_torch_function(relevant_args)


@function_of_one_argument("torch._C._has_torch_function_unary")
def has_torch_function_unary(arg: Any) -> bool:
    """`has_torch_function` of one argument."""
    return overridable.has_torch_function((arg,))


def has_torch_function_variadic(*args: Any) -> bool:
    """`has_torch_function` of arguments that are given one by one."""
    return overridable.has_torch_function(args)


def wrap_torch_function(dispatcher: Callable) -> Callable:
    """Decorator of a function that classes may take over; `dispatcher` returns the arguments whose
    classes are asked (torch.overrides.wrap_torch_function)."""

    def inner(func: Callable) -> Callable:
        @functools.wraps(func)
        def wrapped(*args: Any, **kwargs: Any) -> Any:
            relevant_args = dispatcher(*args, **kwargs)
            if has_torch_function(relevant_args):
                return handle_torch_function(wrapped, relevant_args, *args, **kwargs)
            return func(*args, **kwargs)

        return wrapped

    return inner


def get_default_nowrap_functions() -> set[Callable]:
    """The getters whose results keep their class in `Tensor.__torch_function__`
    (torch.overrides.get_default_nowrap_functions)."""
    return set(kept_getters())


def resolve_name(f: Any) -> str | None:
    """The public name of a function or method, or of an operator; None for others
    (torch.overrides.resolve_name)."""
    if isinstance(f, (OpOverload, OpOverloadPacket)):
        return str(f)
    try:
        return _names().get(f)
    except TypeError:  # it has no hash
        return None


@functools.cache
def _names() -> dict[Any, str]:
    """The names of functions, and of the getters and setters of properties; of several the last."""
    root = sys.modules[__name__.partition(".")[0]]
    found: dict[Any, str] = {}
    for path in _NAMESPACES:
        space: Any = functools.reduce(getattr, path.split(".")[1:], root)
        for name in dir(space):
            member = getattr(space, name)
            if space is Tensor:
                if name == "__weakref__" or getattr(object, name, None) == member:
                    continue
            elif name.startswith("__"):
                continue
            if isinstance(member, property):
                found[member.__get__] = f"{path}.{name}.__get__"
                found[member.__set__] = f"{path}.{name}.__set__"
            elif callable(member) and not isinstance(member, type) and member.__hash__:
                found[member] = f"{path}.{name}"
    return found


def is_tensor_method_or_property(func: Callable) -> bool:
    """Whether a function is a method of tensors, or the getter of a property
    (torch.overrides.is_tensor_method_or_property)."""
    name = func.__name__
    return name == "__get__" or getattr(Tensor, name, None) is func
