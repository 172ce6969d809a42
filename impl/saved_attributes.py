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
from impl.attributes import read_only
from impl.plans import TENSOR_READS
from impl.saved import tensor_of

# Arguments that may be any number; the other integers are sizes and dimensions.
_NUMBERS = frozenset(
    (
        *("alpha", "beta", "correction", "exponent", "lower", "max", "max_val", "min", "min_val"),
        *("ord", "p", "self", "upper", "value"),
    )
)
# Numbers in the place of a tensor are wrapped as one, but for these nodes' overloads.
_OF_NUMBERS = frozenset(("ClampBackward1", "PowBackward2", "XlogyBackward1", "XlogyBackward2"))
_OF_SEVERAL = frozenset(("MeanBackward1", "SumBackward1"))  # take several dimensions


def publish(operator) -> None:
    """Give the class of an operator's nodes the attributes `_saved_<name>` and `_raw_saved_<name>`.

    They raise RuntimeError if what was saved is freed, the first also if it was written since.
    """
    for name in names(operator):
        _attach(operator, f"_saved_{name}", lambda node, name=name: _read(node, name))
    for name in operator.saveable:
        if operator.reader(name)[0] in TENSOR_READS:
            shown = lambda node, name=name: node._expose_saved(name)  # noqa: E731
            _attach(operator, f"_raw_saved_{name}", shown)


def _attach(operator, name: str, getter) -> None:
    getter.__name__ = name
    setattr(operator.node_class, name, read_only(getter))


def _read(node, name: str) -> Any:
    kept, part = _kept_as(node._operator, name)
    if node._kept is None:
        raise RuntimeError(messages.FREED)
    names = node._plan.names
    if kept not in names:
        return () if part is not None else None
    value = node._kept[names.index(kept)]
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
    return [name for name in found if _kept_as(operator, name)[0] is not None]


def _renamed(operator) -> dict[str, str]:
    return _RENAMED.get(operator.node_name, {})


def _kept_as(operator, name: str):
    """The name under which an attribute is kept, and what of the entry it shows (None: all)."""
    saveable = operator.saveable
    for kept, shown in _renamed(operator).items():
        if name in (kept, shown):
            return (kept, None) if name == shown else (None, None)
    if name in saveable and (name in operator.position or name in operator.outputs):
        return name, None
    shown_parts = _SHOWN.get(operator.node_name, _USUAL)
    for ending, kept, part in _PARTS:
        if ending not in shown_parts and name not in shown_parts:
            continue
        argument = name.removesuffix(ending)
        if argument != name and argument + kept in saveable:
            several = operator.position.get(argument, -1) == operator.list_position
            return (None, None) if several else (argument + kept, part)
    return None, None


# Names other than torch's, by node, with torch's.
_RENAMED: dict[str, dict[str, str]] = {
    **{f"ClampMinBackward{i}": {"bound": "min"} for i in (0, 1)},
    **{f"ClampMaxBackward{i}": {"bound": "max"} for i in (0, 1)},
    **{
        f"{kind}Pad{n}DBackward0": {"input": "self"}
        for kind in ("Reflection", "Replication")
        for n in (1, 2, 3)
    },
    "NativeBatchNormBackward0": {"save_mean": "result1", "save_invstd": "result2"},
    "NativeLayerNormBackward0": {"mean": "result1", "rstd": "result2"},
    "NativeGroupNormBackward0": {"mean": "result1", "rstd": "result2"},
}
_USUAL = ("_sym_sizes", "_sym_strides", "_dim")
_SIDES = ("_sym_argsize_minus_1", "_sym_argsize_minus_2")
# What other nodes show of the arguments' sizes, or of one argument's. The formulas of those that
# show nothing are given sizes where torch's are given what it does not show.
_SHOWN: dict[str, tuple[str, ...]] = {
    **{name: _SIDES for name in ("LuUnpackBackward0", "Im2ColBackward0")},
    "LinalgSvdBackward0": ("_sym_argsize_minus_1",),
    **{name: ("_sym_argsize_0",) for name in ("EmbeddingBackward0", "EmbeddingBagBackward0")},
    **{name: (*_USUAL, "_sym_numel") for name in ("MeanBackward0", "MeanBackward1")},
    "AddbmmBackward0": ("batch1_sym_argsize_0", "batch1_sym_argsize_1", "batch2_sym_argsize_2"),
    "ConvolutionBackward0": ("_sym_sizes_opt",),
    **{f"{name}Backward1": () for name in ("Eq", "Ne", "Lt", "Le", "Gt", "Ge")},
    **{
        name: ()
        for name in (
            *("AsStridedBackward0", "AsStridedBackward0_copy", "CopysignBackward0"),
            *("IndexPutBackward0", "LinalgSolveExBackward0"),
            *(f"MaxPool{n}DWithIndicesBackwardBackward0" for n in (2, 3)),
            *("UnbindBackward0", "UnbindBackward0_copy"),
            *(f"{name}ScatterBackward0" for name in ("AsStrided", "Diagonal", "Select", "Slice")),
        )
    },
}
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
    kind = type(node).__name__
    if isinstance(value, list):
        return tuple(tensor_of(v, node) for v in value)
    if isinstance(value, (int, float, complex)):
        if name in node._operator.position:
            position = node._operator.position[name]
            if position in node._operator.tensor_positions and kind not in _OF_NUMBERS:
                return primitive.new(np.asarray(value))
        if name == "dim" and kind in _OF_SEVERAL:
            value = (value,)
    if name in _NUMBERS:
        return tensor_of(value, node)
    if type(value) is int:
        return _unsigned(value)
    if isinstance(value, tuple) and all(type(v) is int for v in value):
        return tuple(map(_unsigned, value))
    return tensor_of(value, node)


def _unsigned(value: int) -> int:
    return value + (1 << 64) if value < 0 else value
