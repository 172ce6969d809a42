"""`impl` with faults planted in the gradient formulas of twenty common operators, one at a time.

Importing it changes `impl` in the importing process. No fault shows until `PLANTED` names one.
"""

from __future__ import annotations

import functools
import gc
from typing import Any

import impl
from impl.dispatch.operator import Operator

NAMES = (
    *("add", "sub", "mul", "div", "exp", "sin", "relu", "abs", "maximum", "where", "clamp"),
    *("sum_all", "sum_dim", "cumsum_along", "amax", "mm", "cat", "stack", "transpose", "select"),
)
PLANTED: list[str] = []


def _faulty(name: str, formula: Any) -> Any:
    @functools.wraps(formula)
    def planted(*args: Any, **keywords: Any) -> Any:
        found = formula(*args, **keywords)
        return _scaled(found) if name in PLANTED else found

    return planted


def _scaled(found: Any) -> Any:
    if isinstance(found, tuple | list):
        return type(found)(map(_scaled, found))
    return found if found is None else found * 1.5


def _plant() -> set[str]:
    found = set()
    for op in gc.get_objects():
        if isinstance(op, Operator) and op.name in NAMES and op.formulas:
            found.add(op.name)
            stated = list(op.formulas)
            op.formulas.clear()
            op.plans.clear()
            for inputs, function, _ in stated:
                op._add_formula(inputs, _faulty(op.name, function))
    return found


OPERATORS = _plant()
namespace = impl
