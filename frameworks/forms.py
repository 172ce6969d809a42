"""The forms in which torch's operators are called, over functions of other libraries."""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Callable
from typing import Any

Selected = namedtuple("Selected", "values indices")
Operators = dict[str, Callable[..., Any]]


def find(library: Any, path: str) -> Any:
    """The library's function of this name, such as "linalg.det", or None."""
    for name in path.split("."):
        library = getattr(library, name, None)
    return library


def sizes(shape: tuple[Any, ...]) -> tuple[int, ...]:
    """The sizes that a caller gave one by one, or as one list or tuple."""
    return tuple(shape[0]) if len(shape) == 1 and isinstance(shape[0], list | tuple) else shape


def shaped(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function of an array and a tuple, called with sizes or dimensions as torch takes them."""
    return lambda x, *given: function(x, sizes(given))


def positional(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function without its keywords, which are not torch's."""
    return lambda *args: function(*args)


def reduction(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function that takes `axis` and `keepdims`, under torch's words for these."""

    def reduced(x: Any, dim: Any = None, keepdim: bool = False) -> Any:
        return function(x, axis=dims(dim), keepdims=keepdim)

    return reduced


def dims(dim: Any) -> Any:
    """The dimensions to reduce, None for all: that is what torch takes an empty list for."""
    return (tuple(dim) or None) if isinstance(dim, list | tuple) else dim


def either(whole: Callable[..., Any], between: Callable[..., Any]) -> Callable[..., Any]:
    """torch.max or torch.min: of all elements, or between two tensors."""

    def called(x: Any, other: Any = None) -> Any:
        if other is None:
            return whole(x)
        if isinstance(other, int):
            raise NotImplementedError("an extremum with its place")
        return between(x, other)

    return called


def selected(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function that returns elements and their places, with torch's names for the two."""
    return lambda x, *args: Selected(*function(x, *args))
