"""Fixture and helpers for operators that tests define."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

import impl
from impl.core.registry import FUNCTIONS, OPERATORS, array_ops, tensor_ops
from impl.dispatch.definition import Array, operator
from impl.tensor.tensor import Tensor


@pytest.fixture(autouse=True)
def scratch() -> Iterator[None]:
    """Removes the operators that a test defined, in modules that import this fixture."""
    tables = [FUNCTIONS, OPERATORS, vars(array_ops), vars(tensor_ops)]
    before = [dict(t) for t in tables]
    methods = set(vars(Tensor))
    yield
    for table, held in zip(tables, before, strict=True):
        table.clear()
        table.update(held)
    for name in set(vars(Tensor)) - methods:
        delattr(Tensor, name)


def leaf(*values: float) -> Any:
    """A vector, by default of 1, 2 and 3, that requires grad."""
    return impl.tensor(list(values or (1.0, 2.0, 3.0)), requires_grad=True)


def kept(node) -> dict[str, Any]:
    """The tensors and other values that a node saved, by their names in formulas."""
    return {
        name: value
        for name, value in zip(node._plan.names, node._saved, strict=True)
        if not name.startswith("grad") and name != "needs"
    }


def scaled(**settings):
    """Define an operator of a tensor, a second one and a number: self * other + amount."""

    @operator(**settings)
    def scaled(self: Array, other: Array, amount=0) -> Array:
        """self * other + amount."""
        return self * other + amount

    return scaled
