"""`torch.overrides`: functions of a program's own that other classes may take over."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable
from typing import Any

from impl.core.state import STATE
from impl.tensor.tensor import Tensor
from impl.tensor.torch_function import disabled, insert, kept_getters, overrides

__all__ = [
    "get_default_nowrap_functions",
    "handle_torch_function",
    "has_torch_function",
    "is_tensor_like",
    "is_tensor_method_or_property",
    "wrap_torch_function",
]


def is_tensor_like(inp: Any) -> bool:
    """Whether an object is a tensor or has `__torch_function__`
    (torch.overrides.is_tensor_like)."""
    return isinstance(inp, Tensor) or hasattr(inp, "__torch_function__")


def has_torch_function(relevant_args: Iterable[Any]) -> bool:
    """Whether the class of one of the arguments takes functions over
    (torch.overrides.has_torch_function)."""
    return STATE.torch_function and any(map(overrides, relevant_args))


def has_torch_function_unary(arg: Any) -> bool:
    """`has_torch_function` of one argument."""
    return STATE.torch_function and overrides(arg)


def has_torch_function_variadic(*args: Any) -> bool:
    """`has_torch_function` of arguments that are given one by one."""
    return has_torch_function(args)


def handle_torch_function(
    public_api: Callable, relevant_args: Iterable[Any], *args: Any, **kwargs: Any
) -> Any:
    """The result of the first of the arguments' classes that takes a function over
    (torch.overrides.handle_torch_function).

    Raises TypeError where all of them return NotImplemented.
    """
    asked: list = []
    for value in relevant_args:
        if getattr(type(value), "__torch_function__", disabled) is not disabled:
            insert(asked, value)
    types = tuple(map(type, asked))
    for value in asked:
        result = value.__torch_function__(public_api, types, args, kwargs)
        if result is not NotImplemented:
            return result
    raise TypeError(
        f"no implementation found for '{public_api.__module__}.{public_api.__name__}' on types "
        f"that implement __torch_function__: {list(types)}"
    )


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


def is_tensor_method_or_property(func: Callable) -> bool:
    """Whether a function is a method of tensors, or the getter of a property
    (torch.overrides.is_tensor_method_or_property)."""
    name = func.__name__
    return name == "__get__" or getattr(Tensor, name, None) is func
