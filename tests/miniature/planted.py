"""`impl` with a fault planted in the gradient formulas of a common operator: `planted:mul`.

Importing it changes `impl` in the importing process; a fault shows only in the sessions of its own
backend, so that `impl` itself is the oracle.
"""

from __future__ import annotations

import functools
import gc
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import impl
from conformance.backends import TorchShaped
from impl.dispatch.operator import Operator

PLANTED: dict[str, tuple[str, ...]] = {
    **{name: (name,) for name in ("add", "sub", "mul", "div", "pow", "exp", "log", "sin", "abs")},
    **{name: (name,) for name in ("relu", "sigmoid", "tanh", "maximum", "where", "clamp", "amax")},
    **{name: (name,) for name in ("index_select", "gather", "cat", "stack", "expand", "transpose")},
    "sum": ("sum_dim", "sum_all"),
    "mean": ("mean_dim", "mean_all"),
    "max": ("max_dim", "max_all"),
    "min": ("min_dim", "min_all"),
    "matmul": ("mm",),
    "cumsum": ("cumsum_along",),
    "softmax": ("softmax_along",),
    "norm": ("vector_norm_dims",),
    "select": ("select",),
}
"""The common operators, each with the names of its formulas' owners within `impl`."""

_shown: list[str] = []


class Planted(TorchShaped):
    """`impl`, whose gradients of one operator are too large by a hundredth."""

    def __init__(self, name: str) -> None:
        super().__init__(f"miniature.planted:{name}", impl, "1.0")
        self.operators = PLANTED[name]

    @contextmanager
    def session(self) -> Iterator[None]:
        """Show the fault during the session only."""
        with super().session():
            _shown[:] = self.operators
            try:
                yield
            finally:
                _shown.clear()


def __getattr__(name: str) -> Planted:
    if name not in PLANTED:
        raise AttributeError(name)
    return Planted(name)


def _faulty(name: str, formula: Any) -> Any:
    @functools.wraps(formula)
    def planted(*args: Any, **keywords: Any) -> Any:
        found = formula(*args, **keywords)
        return _scaled(found) if name in _shown else found

    vars(planted).pop("expression", None)  # `impl` compiles an expression in place of the call
    return planted


def _scaled(found: Any) -> Any:
    if isinstance(found, tuple | list):
        return type(found)(map(_scaled, found))
    return found if found is None else found * 1.01


def _plant() -> None:
    missing = {name for names in PLANTED.values() for name in names}
    for op in gc.get_objects():
        if isinstance(op, Operator) and op.formulas and op.name in missing:
            missing.remove(op.name)
            stated = list(op.formulas)
            op.formulas.clear()
            op.plans.clear()
            for inputs, function, _ in stated:
                op._add_formula(inputs, _faulty(op.name, function))
    assert not missing, f"impl has no formulas of {missing}"


_plant()
