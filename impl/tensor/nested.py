"""Values that are tensors, or lists in which there are tensors: arguments and results of operators,
as c10's IValue has them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from impl.tensor.tensor import Tensor


def tensors_of(values: Iterable[Any]) -> Iterator[Tensor]:
    """The tensors among values, and in lists among these."""
    for value in values:
        if isinstance(value, Tensor):
            yield value
        elif isinstance(value, (list, tuple)):
            yield from tensors_of(value)


def each(function: Callable[[Any], Any], value: Any) -> Any:
    """The result of a function for a value; for a list, a list of those for its entries."""
    if isinstance(value, (list, tuple)):
        return type(value)([each(function, entry) for entry in value])
    return function(value)
