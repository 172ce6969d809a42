"""Readers of fields: each reads one field of a live value on a torch-shaped namespace.

A reader is called with the observer, the value, and the name that the value is bound to (None for
the value of an expression). A namespace that has no notion of a field raises AttributeError or
NotImplementedError.
"""

from __future__ import annotations

from itertools import chain
from math import isfinite, prod
from typing import TYPE_CHECKING, Any

import numpy as np

from conformance.observe.texts import text

if TYPE_CHECKING:
    from conformance.observe.observer import Observer

ABSENT: Any = object()
"""The result of a reader whose field this value does not have."""

_NUMBERS = frozenset((bool, int, float, complex))


def elements(values: list[Any]) -> list[Any]:
    """Return flat numbers as JSON has them: "nan", "inf", "-inf" as strings, complex as pairs."""
    if values and isinstance(values[0], complex):
        return [elements([v.real, v.imag]) for v in values]
    if all(map(isfinite, values)):
        return values
    return [v if isfinite(v) else str(v) for v in values]


def shape(observer: Observer, tensor: Any, name: str | None) -> list[int]:
    return list(map(int, tensor.shape))


def dtype(observer: Observer, tensor: Any, name: str | None) -> str:
    return observer.dtype_name(tensor.dtype)


def is_sparse(tensor: Any) -> bool:
    """Say whether a tensor stores its elements with their indices (torch.sparse_coo)."""
    return getattr(tensor, "is_sparse", False) is True


def sparse(observer: Observer, tensor: Any, name: str | None) -> dict[str, Any]:
    if not is_sparse(tensor):
        return ABSENT
    return {
        "layout": text(tensor.layout).rpartition(".")[2],
        "indices": [list(map(int, row)) for row in tensor._indices().tolist()],
        "coalesced": bool(tensor.is_coalesced()),
    }


def on_cpu(observer: Observer, tensor: Any, name: str | None) -> bool:
    # Numbers, such as an optimiser's count of steps, may lie on the CPU beside any device.
    seen = observer.sees_cpu and tensor.device.type == "cpu" and len(tensor.shape) > 0
    return seen or ABSENT


def values(observer: Observer, tensor: Any, name: str | None) -> Any:
    if observer.unread_device is not None and tensor.device == observer.unread_device:
        return ABSENT
    if is_sparse(tensor):
        tensor = tensor._values().detach()
    shape = tensor.shape
    values = observer.numbers(tensor)
    if not isinstance(values, list):
        values = [values]
    for _ in range(len(shape) - 1):
        values = list(chain.from_iterable(values))
    if len(values) != prod(shape):
        raise ValueError(f"tolist() gives {len(values)} values for the shape {tuple(shape)}")
    if not _NUMBERS.issuperset(map(type, values)):
        values = [_number(value) for value in values]
    return elements(values)


def _number(value: Any) -> Any:
    """Return a number of a namespace's own type as Python's."""
    plain = value.item() if hasattr(value, "item") else value
    if type(plain) not in _NUMBERS:
        raise TypeError(f"tolist() gives {type(value).__name__} objects, which are no numbers")
    return plain


def grad(observer: Observer, tensor: Any, name: str | None) -> dict[str, Any] | None:
    return observer.gradient(tensor.grad, name)


def same_grad(observer: Observer, gradient: Any, name: str | None) -> bool:
    return ABSENT if name is None else observer.is_known_gradient(gradient, name)


def requires_grad(observer: Observer, tensor: Any, name: str | None) -> bool:
    return bool(tensor.requires_grad)


def is_leaf(observer: Observer, tensor: Any, name: str | None) -> bool:
    return bool(tensor.is_leaf)


def has_grad_fn(observer: Observer, tensor: Any, name: str | None) -> bool:
    return tensor.grad_fn is not None


def retains_grad(observer: Observer, tensor: Any, name: str | None) -> bool:
    return bool(tensor.retains_grad)


def output_nr(observer: Observer, tensor: Any, name: str | None) -> int:
    return int(tensor.output_nr)


def strides(observer: Observer, tensor: Any, name: str | None) -> list[int]:
    return ABSENT if is_sparse(tensor) else list(map(int, tensor.stride()))


def offset(observer: Observer, tensor: Any, name: str | None) -> int:
    return ABSENT if is_sparse(tensor) else int(tensor.storage_offset())


def version(observer: Observer, tensor: Any, name: str | None) -> int:
    return int(tensor._version)


def is_view(observer: Observer, tensor: Any, name: str | None) -> bool:
    return bool(tensor._is_view())


def storage(observer: Observer, tensor: Any, name: str | None) -> str:
    if is_sparse(tensor):
        return ABSENT
    return observer.storage_label(tensor.untyped_storage(), name)


def grad_fn(observer: Observer, tensor: Any, name: str | None) -> str | None:
    node = tensor.grad_fn
    return None if node is None else type(node).__name__


def graph(observer: Observer, tensor: Any, name: str | None) -> list[str]:
    return observer.graph(tensor.grad_fn)


def boolean(observer: Observer, value: Any, name: str | None) -> bool:
    return bool(value)


def integer(observer: Observer, value: Any, name: str | None) -> int:
    return int(value)


def floating(observer: Observer, value: Any, name: str | None) -> float | str:
    return elements([float(value)])[0]


def pair(observer: Observer, value: Any, name: str | None) -> list[float | str]:
    return elements([complex(value)])[0]


def string(observer: Observer, value: Any, name: str | None) -> str:
    return observer.text(str(value))


def sizes(observer: Observer, value: Any, name: str | None) -> list[int]:
    return [int(n) for n in value]


def dtype_name(observer: Observer, value: Any, name: str | None) -> str:
    return observer.dtype_name(value)


def array_shape(observer: Observer, array: Any, name: str | None) -> list[int]:
    return list(array.shape)


def array_dtype(observer: Observer, array: Any, name: str | None) -> str:
    return str(array.dtype)


def array_values(observer: Observer, array: Any, name: str | None) -> list[Any]:
    return elements(np.asarray(array).reshape(-1).tolist())


def type_name(observer: Observer, value: Any, name: str | None) -> str:
    return type(value).__name__
