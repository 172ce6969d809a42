"""Layer classes that are made from one definition, and the checks and texts that layers share."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from impl.tensor.tensor import Tensor

_SHAPES = {1: "(N, C, L)", 2: "(N, C, H, W)", 3: "(N, C, D, H, W)"}


def layer_class(bases: tuple[type, ...], name: str, text: str, /, **fields: Any) -> type[Any]:
    """A layer's class that differs from its first base in class attributes only.

    It belongs to that base's module, unless `__module__` is among the fields, and is pickled by its
    name: that module must hold it under `name`.
    """
    body = {"__doc__": f"{text} (torch.nn.{name}).", "__module__": bases[0].__module__, **fields}
    return type(name, bases, body)


def by_dimension(
    bases: type | tuple[type, ...], name: str, text: str, ndims=(1, 2, 3), /, **fields
) -> list[type[Any]]:
    """A class for each number of spatial dimensions, which it has as `_ndim`.

    The number replaces `{}` in `name`, the input's shape `{}` in `text`.
    """
    bases = bases if isinstance(bases, tuple) else (bases,)
    return [
        layer_class(bases, name.format(n), text.format(_SHAPES[n]), _ndim=n, **fields)
        for n in ndims
    ]


def each_dimension(value, ndim: int) -> tuple[Any, ...]:
    """A setting for each spatial dimension, where one number stands for all."""
    return tuple(value) if isinstance(value, Iterable) else (value,) * ndim


def check_rank(input: Tensor, *ranks: int) -> None:
    """Raise ValueError unless the input has one of these numbers of dimensions."""
    rank = input.dim()
    if rank not in ranks:
        expected = " or ".join(f"{n}D" for n in ranks)
        raise ValueError(f"expected {expected} input (got {rank}D input)")


def nondefault(module: Any, *, shown: Callable[[Any], str] = str, **defaults: Any) -> str:
    """The settings that differ from their defaults, as a continuation of a layer's text."""
    values = {name: getattr(module, name) for name in defaults}
    return "".join(f", {k}={shown(v)}" for k, v in values.items() if v != defaults[k])
