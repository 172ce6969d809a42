"""Depth and cost of impl's engine: long chains, and evaluations of each node once."""

from __future__ import annotations

import sys
import weakref
from collections.abc import Iterator

import pytest
from made_graphs import leaf, without_collector

import impl
from impl.core.registry import OPERATORS
from impl.core.state import STATE
from impl.dispatch.derivatives import DerivativeInfo
from impl.dispatch.operator_node import OperatorNode
from impl.engine.gradient_values import ArrayGradients, RecordingGradients

DEEP = 200_000


# -- depth ------------------------------------------------------------------------------------


def test_a_deep_chain_is_differentiated_and_freed():
    assert sys.getrecursionlimit() < DEEP
    x = leaf(1.0)
    with without_collector():
        y = x
        for _ in range(DEEP):
            y = y + 1
        last = weakref.ref(y.grad_fn)
        y.backward()
        assert x.grad.tolist() == [1.0]
        assert last() is not None
        del y
        assert last() is None


def test_a_deep_chain_that_was_never_differentiated_is_freed():
    x = leaf(1.0)
    with without_collector():
        y = x
        for _ in range(DEEP // 4):
            y = (y * y).sin()  # both save tensors
        nodes = [weakref.ref(y.grad_fn), weakref.ref(y)]
        del y
        assert [n() for n in nodes] == [None, None]


@pytest.mark.parametrize("record", [False, True])
def test_a_deep_chain_of_writes_and_views_is_differentiated(record):
    x = leaf(1.0, 2.0)
    y = x * 1
    for i in range(3000):
        (y if i % 3 else y[:1]).mul_(1)
        y = y.view(2)
    (gradient,) = impl.autograd.grad(y.sum(), x, create_graph=record)
    assert gradient.tolist() == [1.0, 1.0]


def test_a_deep_chain_is_differentiated_twice():
    x = leaf(1.0)
    y = x * x
    for _ in range(DEEP // 10):
        y = y * 1
    (first,) = impl.autograd.grad(y, x, create_graph=True)
    (second,) = impl.autograd.grad(first, x)
    assert (first.item(), second.item()) == (2.0, 2.0)


# -- cost -------------------------------------------------------------------------------------


@pytest.fixture
def evaluations(monkeypatch) -> Iterator[list[str]]:
    """The names of the nodes that run, in order."""
    ran: list[str] = []
    evaluate = OperatorNode._evaluate

    def counted(self, *arguments):
        ran.append(self.name())
        return evaluate(self, *arguments)

    monkeypatch.setattr(OperatorNode, "_evaluate", counted)
    # The generated functions do the same, and cannot be counted.
    monkeypatch.setattr(DerivativeInfo, "has_one_gradient", False)
    for operator in OPERATORS.values():
        monkeypatch.setattr(operator, "plans", {})
    STATE.fast_path_blockers += 1
    yield ran
    STATE.fast_path_blockers -= 1


def test_a_ladder_costs_as_much_as_it_has_rungs(evaluations):
    """2**60 paths lead from the root to the leaf."""
    x = leaf(1.0)
    y = x
    for _ in range(60):
        y = y + y
    y.backward()
    assert x.grad.item() == 2.0**60
    assert evaluations == ["AddBackward0"] * 60


@pytest.mark.parametrize("uses", [1, 2, 10, 100])
@pytest.mark.parametrize("record", [False, True])
def test_fan_out_costs_one_addition_per_further_use(uses, record, evaluations, monkeypatch):
    additions: list[int] = []

    def count(form):
        add = form.add

        def counted(self, a, b):
            additions.append(1)
            return add(self, a, b)

        monkeypatch.setattr(form, "add", counted)

    count(ArrayGradients)
    count(RecordingGradients)
    # In-place additions to unshared sums cannot be counted.
    monkeypatch.setattr("impl.engine.input_buffer.getrefcount", lambda _: 9)
    x = leaf()
    h = x * 2
    terms = [h * (i + 1) for i in range(uses)]
    total = terms[0]
    for term in terms[1:]:
        total = total + term
    root = total.sum()
    evaluations.clear()
    impl.autograd.grad(root, x, create_graph=record)
    assert len(additions) == uses - 1
    # The sum, the terms, the additions between them, and h: each once.
    assert len(evaluations) == 1 + uses + (uses - 1) + 1


def test_only_what_leads_to_the_inputs_runs(evaluations):
    x, w = leaf(), leaf()
    inner = x.exp()
    loss = (inner * w.sin()).sum()
    impl.autograd.grad(loss, inner, retain_graph=True)
    assert evaluations == ["SumBackward0", "MulBackward0"]
    evaluations.clear()
    loss.backward(inputs=[w])
    assert evaluations == ["SumBackward0", "MulBackward0", "SinBackward0"]
    assert x.grad is None


def test_roots_that_coincide_are_one_with_the_sum_of_their_seeds(evaluations):
    x = leaf()
    y = x * 2
    impl.autograd.backward([y, y, x], [impl.ones(4), impl.ones(4) * 2, impl.ones(4) * 100])
    assert evaluations == ["MulBackward0"]
    assert x.grad.tolist() == [106.0] * 4
