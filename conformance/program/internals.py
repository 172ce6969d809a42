"""The level of the internals that a statement reads: attributes that no value depends on.

A program may ask for `x._version`, `y.stride()` or `y.grad_fn is None`. The answer is a number or a
bool, but a backend that has no version counters still has the right values.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import lru_cache

from conformance.base.levels import LEVELS

_MEMORY = {"_base", "_is_view", "_version", "data_ptr", "is_contiguous", "is_set_to"}
_MEMORY |= {"storage_offset", "stride", "untyped_storage"}
_GRAPH = {"grad_fn", "is_leaf", "output_nr", "requires_grad", "retains_grad"}
_ATTRIBUTES = dict.fromkeys(_MEMORY, "memory") | dict.fromkeys(_GRAPH, "graph")
_MENTIONED = re.compile(rf"\b(?:{'|'.join(sorted(_ATTRIBUTES))}|is|name)\b")
"""The words of which a statement that reads internals has one: others need not be parsed."""


@lru_cache(maxsize=4096)
def internals(source: str) -> str | None:
    """The highest level of the attributes that a statement reads; None for values alone."""
    if _MENTIONED.search(source) is None:
        return None
    tree = ast.parse(source)
    statement = tree.body[0] if len(tree.body) == 1 else None
    if not isinstance(statement, ast.Expr | ast.Assign):
        return None
    return max(_levels(statement.value), key=LEVELS.index, default=None)


def _levels(expression: ast.expr) -> Iterator[str]:
    for node in ast.walk(expression):
        match node:
            case ast.Call(func=ast.Attribute(attr="name"), args=[], keywords=[]):
                yield "diagnostics"
            case ast.Attribute(attr=name) if name in _ATTRIBUTES:
                yield _ATTRIBUTES[name]
            case ast.Compare(left=left, ops=[ast.Is() | ast.IsNot()], comparators=[right]):
                if not any(isinstance(side, ast.Constant) for side in (left, right)):
                    yield "memory"
