"""The arguments and results of operators with lists of tensors, as a node takes them."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Any

from impl.tensor.tensor import Tensor


def _is_list(value: Any) -> bool:
    """Whether a value is a list of tensors, each of which is an argument of the node."""
    return isinstance(value, (list, tuple)) and all(isinstance(v, Tensor) for v in value)


def flattened(values: tuple) -> list:
    """The values, and in the place of lists of tensors their elements."""
    flat: list = []
    for value in values:
        if _is_list(value):
            flat += value
        else:
            flat.append(value)
    return flat


def skeleton(values: tuple) -> tuple:
    """None for each value, and for a list of tensors a list or tuple of as many."""
    return tuple(type(v)([None] * len(v)) if _is_list(v) else None for v in values)


def rebuilt(flat, like: tuple) -> tuple:
    """The values of a flat sequence in the structure of a skeleton, lists as lists."""
    rest: Iterator[Any] = iter(flat)
    return tuple(next(rest) if v is None else [*islice(rest, len(v))] for v in like)
