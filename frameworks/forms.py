"""Adapters that give functions of other libraries the signatures of torch's operators."""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Callable
from typing import Any

Selected = namedtuple("Selected", "values indices")
Operators = dict[str, Callable[..., Any]]


def find(library: Any, path: str) -> Any:
    """The library's function with this dotted name, such as "linalg.det", or None."""
    for name in path.split("."):
        library = getattr(library, name, None)
    return library


def sizes(shape: tuple[Any, ...]) -> tuple[int, ...]:
    """Sizes passed as separate arguments, or as one list or tuple."""
    return tuple(shape[0]) if len(shape) == 1 and isinstance(shape[0], list | tuple) else shape


def shaped(function: Callable[..., Any]) -> Callable[..., Any]:
    """Adapt a function of an array and a tuple to torch's sizes or dimensions."""
    return lambda x, *given: function(x, sizes(given))


def positional(function: Callable[..., Any]) -> Callable[..., Any]:
    """Adapt a function without torch's keywords: all arguments become positional."""
    return lambda *args: function(*args)


def reduction(function: Callable[..., Any]) -> Callable[..., Any]:
    """Adapt a function with `axis` and `keepdims` to torch's `dim` and `keepdim`."""

    def reduced(x: Any, dim: Any = None, keepdim: bool = False) -> Any:
        return function(x, axis=dims(dim), keepdims=keepdim)

    return reduced


def dims(dim: Any) -> Any:
    """The dimensions to reduce; None stands for all, as an empty list does in torch."""
    return (tuple(dim) or None) if isinstance(dim, list | tuple) else dim


def either(whole: Callable[..., Any], between: Callable[..., Any]) -> Callable[..., Any]:
    """torch.max or torch.min, as a reduction of all elements or of two tensors elementwise."""

    def called(x: Any, other: Any = None) -> Any:
        if other is None:
            return whole(x)
        if isinstance(other, int):
            raise NotImplementedError("an extremum with its place")
        return between(x, other)

    return called


def selected(function: Callable[..., Any]) -> Callable[..., Any]:
    """Adapt a function returning (values, indices) to torch's named tuple."""
    return lambda x, *args: Selected(*function(x, *args))
