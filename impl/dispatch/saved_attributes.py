"""The attributes under which a node shows its saved values: `_saved_self`, `_saved_dim` and so on.

The names and the forms are torch's, which come from how its C++ code keeps an argument: sizes are
those of a tensor, a dimension counted from the end is an unsigned integer, several dimensions are
a tuple even if one was given.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from impl.core import messages
from impl.core.read_only import read_only
from impl.dispatch.gradient_plan import TENSOR_READS
from impl.tape.saved_variable import read_tensor
from impl.tensor import tensor

# Arguments that may be any number; the other integers are sizes and dimensions.
_NUMBERS = frozenset(
    (
        *("alpha", "beta", "correction", "exponent", "lower", "max", "max_val", "min", "min_val"),
        *("ord", "p", "self", "upper", "value"),
    )
)


def publish(operator) -> None:
    """Give the class of an operator's nodes the attributes `_saved_<name>` and `_raw_saved_<name>`.

    They raise RuntimeError if the saved value is freed, the first also if it was written since.
    """
    for name in names(operator):
        _attach(operator, f"_saved_{name}", lambda node, name=name: _read(node, name))
    for name in operator.saveable:
        if operator.saved_source(name)[0] in TENSOR_READS:
            shown = lambda node, name=name: node._expose_saved(name)  # noqa: E731
            _attach(operator, f"_raw_saved_{name}", shown)


def _attach(operator, name: str, getter) -> None:
    getter.__name__ = name
    setattr(operator.node_class, name, read_only(getter))


def _read(node, name: str) -> Any:
    kept, part = _kept_as(node._operator, name)
    names = node._plan.names
    if kept not in names:  # was never saved, which freeing does not change
        return () if part is not None else None
    if node._saved is None:
        raise RuntimeError(messages.FREED)
    value = node._saved[names.index(kept)]
    return _shown(node, name, value) if part is None else part(value)


def names(operator) -> list[str]:
    """The names of an operator's saved attributes, without `_saved_`."""
    found = []
    for kept in operator.saveable:
        if kept in operator.position or kept in operator.outputs:
            found.append(_renamed(operator).get(kept, kept))
        else:
            found += [
                kept.removesuffix(end) + name for name, end, _ in _PARTS if kept.endswith(end)
            ]
    return [name for name in found if name and _kept_as(operator, name)[0] is not None]


def _renamed(operator) -> Mapping[str, str | None]:
    return operator.saved_as.renamed or {}


def _kept_as(operator, name: str):
    """The name under which an attribute is kept, and what of the entry it shows (None: all)."""
    saveable = operator.saveable
    for kept, shown in _renamed(operator).items():
        if name in (kept, shown):
            return (kept, None) if name == shown else (None, None)
    if name in saveable and (name in operator.position or name in operator.outputs):
        return name, None
    shown_parts = operator.saved_as.parts
    for ending, kept, part in _PARTS:
        if ending not in shown_parts and name not in shown_parts:
            continue
        argument = name.removesuffix(ending)
        if argument != name and argument + kept in saveable:
            several = operator.position.get(argument, -1) == operator.list_position
            return (None, None) if several else (argument + kept, part)
    return None, None


_PARTS = (
    ("_sym_sizes", "_shape", tuple),
    ("_sym_sizes", "_layout", lambda layout: tuple(layout[0])),
    ("_sym_strides", "_layout", lambda layout: tuple(layout[1])),
    ("_sym_sizes_opt", "_shape", lambda shape: tuple(shape) or (0,)),  # () of None
    ("_sym_argsize_0", "_shape", lambda shape: shape[0]),
    ("_sym_argsize_1", "_shape", lambda shape: shape[1]),
    ("_sym_argsize_2", "_shape", lambda shape: shape[2]),
    ("_sym_argsize_minus_1", "_shape", lambda shape: shape[-1]),
    ("_sym_argsize_minus_2", "_shape", lambda shape: shape[-2]),
    ("_sym_numel", "_shape", math.prod),
    ("_dim", "_dim", int),
)


def _shown(node, name: str, value):
    saved_as = node._operator.saved_as
    if isinstance(value, list):
        return tuple(read_tensor(v, node) for v in value)
    if isinstance(value, (int, float, complex)):
        if name in node._operator.position:
            position = node._operator.position[name]
            if position in node._operator.tensor_positions and saved_as.numbers_as_tensors:
                return tensor.new(np.asarray(value))
        if name == "dim" and saved_as.dim_as_tuple:
            value = (value,)
    if name in _NUMBERS:
        return read_tensor(value, node)
    if type(value) is int:
        return _unsigned(value)
    if isinstance(value, tuple) and all(type(v) is int for v in value):
        return tuple(map(_unsigned, value))
    return read_tensor(value, node)


def _unsigned(value: int) -> int:
    return value + (1 << 64) if value < 0 else value
