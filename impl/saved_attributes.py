"""What a node shows of what it has saved: its attributes `_saved_self`, `_saved_dim` and so on.

The names and the forms are torch's, which come from how its C++ code keeps an argument: sizes are
those of a tensor, a dimension counted from the end is an unsigned integer, several dimensions are
a tuple even if one was given.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from impl import messages, primitive
from impl.saved import tensor_of

# Arguments that may be any number; the other integers are sizes and dimensions.
_NUMBERS = frozenset(("alpha", "beta", "exponent", "max", "min", "ord", "p", "self", "value"))
# Numbers in the place of a tensor are wrapped as one, but for these nodes' overloads.
_OF_NUMBERS = frozenset(("ClampBackward1", "PowBackward2"))
_OF_SEVERAL = frozenset(("MeanBackward1", "SumBackward1"))  # take several dimensions
_END = (1 << 63) - 1  # of a slice that goes on to the end


def read(node, name: str) -> Any:
    """The attribute `_saved_<name>`.

    Raises AttributeError if the node's operator saves nothing under that name, RuntimeError if it
    was freed, or written since.
    """
    kept, part = _kept_as(node.operator, name)
    if kept is None:
        raise AttributeError(f"'{type(node).__name__}' object has no attribute '_saved_{name}'")
    if node.saved is None:
        raise RuntimeError(messages.FREED)
    names = node.plan.names
    if kept not in names:
        return () if part is not None else None
    value = node.saved[names.index(kept)]
    return _shown(node, name, value) if part is None else part(value)


def names(operator) -> list[str]:
    """The names of an operator's saved attributes, without `_saved_`."""
    found = []
    for kept in operator.saveable:
        if kept in operator.position or kept in operator.outputs:
            found.append(kept)
        else:
            found += [
                kept.removesuffix(end) + name for name, end, _ in _PARTS if kept.endswith(end)
            ]
    return [name for name in found if _kept_as(operator, name)[0] is not None]


def _kept_as(operator, name: str):
    """The name under which an attribute is kept, and what of the entry it shows (None: all)."""
    saveable = operator.saveable
    if name in saveable and (name in operator.position or name in operator.outputs):
        return name, None
    for ending, kept, part in _PARTS:
        argument = name.removesuffix(ending)
        if argument != name and argument + kept in saveable:
            several = operator.position.get(argument, -1) == operator.list_position
            return (None, None) if several else (argument + kept, part)
    return None, None


_PARTS = (
    ("_sym_sizes", "_shape", tuple),
    ("_sym_sizes", "_layout", lambda layout: tuple(layout[0])),
    ("_sym_strides", "_layout", lambda layout: tuple(layout[1])),
    ("_sym_numel", "_shape", math.prod),
)


def _shown(node, name: str, value):
    kind = type(node).__name__
    if isinstance(value, list):
        return tuple(tensor_of(v, node) for v in value)
    if isinstance(value, (int, float, complex)):
        if name in node.operator.position and not isinstance(value, bool):
            position = node.operator.position[name]
            if position in node.operator.tensor_positions and kind not in _OF_NUMBERS:
                return primitive.new(np.asarray(value))
        if name == "dim" and kind in _OF_SEVERAL:
            value = (value,)
    if name == "end" and value is None:
        return _END
    if name in _NUMBERS:
        return tensor_of(value, node)
    if type(value) is int:
        return _unsigned(value)
    if isinstance(value, tuple) and all(type(v) is int for v in value):
        return tuple(map(_unsigned, value))
    return tensor_of(value, node)


def _unsigned(value: int) -> int:
    return value + (1 << 64) if value < 0 else value
