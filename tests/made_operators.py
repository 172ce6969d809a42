"""Operators that tests define for themselves, and which are gone afterwards."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

import impl
from impl.operator import FUNCTIONS, OPERATORS, RAW, TAPED, Array, operator
from impl.tensor import Tensor


@pytest.fixture(autouse=True)
def scratch() -> Iterator[None]:
    """What a test of a module that imports this defines is gone after the test."""
    tables = [FUNCTIONS, OPERATORS, vars(RAW), vars(TAPED)]
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
    """What a node has saved, tensors and other values, by the names of its formulas."""
    return {
        name: value
        for name, value in zip(node._plan.names, node._kept, strict=True)
        if not name.startswith("grad") and name != "needs"
    }


def scaled(**settings):
    """Define an operator of a tensor, a second one and a number: self * other + amount."""

    @operator(**settings)
    def scaled(self: Array, other: Array, amount=0) -> Array:
        """self * other + amount."""
        return self * other + amount

    return scaled
