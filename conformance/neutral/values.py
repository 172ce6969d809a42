"""Values of the neutral form: Python's literals, in JSON that keeps their types.

None, True, False and strings are JSON's own. A number says which of Python's types it has, since
JSON knows one type of number and `torch.tensor` makes another tensor of `1` than of `1.`; lists of
numbers of one type are written as one value:

    1            {"int": 1}                  [[1., 2.]]     {"float": [[1.0, 2.0]]}
    float("nan") {"float": "nan"}            [1, x]         {"list": [{"int": 1}, {"ref": "x"}]}
    2j           {"complex": [0.0, 2.0]}     (1, 2)         {"tuple": [{"int": 1}, {"int": 2}]}
"""

from __future__ import annotations

import math
from typing import Any

SAFE = 2**53
"""Integers from here on are written as strings: a port may read numbers as doubles."""

_TAGS = {int: "int", float: "float"}


def literal(value: Any) -> Any:
    """Return the form of a Python value; raises TypeError for one that has none."""
    if value is None or isinstance(value, (bool, str)):
        return value
    if value is Ellipsis:
        return {"ellipsis": True}
    if isinstance(value, complex):
        return {"complex": [_number(value.real), _number(value.imag)]}
    if (tag := _TAGS.get(type(value))) is not None:
        return {tag: _number(value)}
    if isinstance(value, list):
        return sequence("list", [literal(item) for item in value])
    if isinstance(value, tuple):
        return sequence("tuple", [literal(item) for item in value])
    raise TypeError(f"{type(value).__name__} has no neutral form")


def sequence(kind: str, items: list[Any]) -> dict[str, Any]:
    """Return the form of a list or tuple of these forms: one value where all are like numbers."""
    if kind == "list" and items:
        for tag in _TAGS.values():
            if all(isinstance(item, dict) and tag in item for item in items):
                return {tag: [item[tag] for item in items]}
    return {kind: items}


def _number(value: float) -> Any:
    if isinstance(value, int):
        return value if -SAFE < value < SAFE else str(value)
    return value if math.isfinite(value) else str(value)
