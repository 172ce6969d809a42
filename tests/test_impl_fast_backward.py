"""The fast paths of the backward pass are equal to the reference, on random graphs: the specialised
loops over arrays and over tensors, and the compiled formulas of a pass that records."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import impl
from impl.core.state import FAST_PATH
from impl.dispatch import operator_node
from impl.engine import execution
from impl.engine.gradient_values import ArrayGradients

# One operation of a random graph: of one tensor (2, 3), or of two. The result has that shape.
UNARY: list[Any] = [
    lambda x: x * 2,
    lambda x: x.sin(),
    lambda x: x.tanh(),
    lambda x: x.t().contiguous().t(),
    lambda x: x.t().reshape(2, 3),
    lambda x: x.contiguous().view(6).view(2, 3),
    lambda x: x.clone(),
    lambda x: x[0].expand(2, 3),
    lambda x: x.sum(0).expand(2, 3),
    lambda x: x.sum() + x,
    lambda x: impl.cat([x[:1], x[1:]]),
    lambda x: impl.stack(x.unbind(0)),
    lambda x: impl.stack(impl.std_mean(x, 1, keepdim=True))[1].expand(2, 3),
    lambda x: (x * 1).mul_(3),
    lambda x: x.double().float(),
    lambda x: x.detach(),
    lambda x: x.max(0)[0].expand(2, 3) + x,
    lambda x: x.cumsum(1),
    lambda x: impl.complex(x, x).conj().real,
    lambda x: (impl.complex(x, x) * impl.complex(x, -x)).exp().real,
]
BINARY: list[Any] = [
    lambda x, y: x + y,
    lambda x, y: x * y,
    lambda x, y: x - y.t().reshape(2, 3),
    lambda x, y: x @ y.t() @ x,
    lambda x, y: impl.where(x > 0, x, y),
    lambda x, y: x + y[0],
    lambda x, y: (x * 1).add_(y),
    lambda x, y: impl.nn.functional.linear(x, y[:, :3]).sum(1, keepdim=True).expand(2, 3) + x,
]


def written_slice(x: Any, y: Any) -> Any:
    whole = x.clone()
    whole[0].mul_(y[1])
    return whole


BINARY.append(written_slice)


@dataclass
class Plan:
    """A random graph and a pass over it, to be carried out several times alike."""

    steps: list[tuple[int, int, int]]
    roots: list[int]
    hooks: list[tuple[int, str]]
    inputs: list[int] | None
    passes: int


@st.composite
def plans(draw: st.DrawFn) -> Plan:
    operation = st.integers(0, len(UNARY) + len(BINARY) - 1)
    steps = draw(st.lists(st.tuples(operation, st.integers(0, 99), st.integers(0, 99)), max_size=9))
    count = 2 + len(steps)
    index = st.integers(0, count - 1)
    kind = st.sampled_from(["tensor", "node", "prehook", "retain", "replace"])
    return Plan(
        steps,
        draw(st.lists(index, min_size=1, max_size=3)),
        draw(st.lists(st.tuples(index, kind), max_size=2)),
        draw(st.none() | st.lists(index, min_size=1, max_size=3, unique=True)),
        draw(st.integers(1, 2)),
    )


@dataclass
class Seen:
    """The observable results of passes, and the nodes that ran."""

    values: list[Any] = field(default_factory=list)
    nodes: list[int] = field(default_factory=list)
    skipped: set[int] = field(default_factory=set)

    def note(self, what: str, tensor: Any) -> None:
        if tensor is None:
            self.values.append((what, None))
            return
        raw = np.asarray(tensor._raw)
        alias = None if tensor._base is None else tensor._base.shape
        self.values.append(
            (what, raw.tobytes(), raw.shape, raw.dtype, tensor.stride(), tensor._version, alias)
        )


def carry_out(plan: Plan, fast: bool, monkeypatch: pytest.MonkeyPatch) -> Seen:
    """Run a plan, with the fast path of the backward pass or without."""
    seen = Seen()
    leaves = [
        impl.tensor([[1.0, -2.0, 3.0], [0.5, 0.25, -1.0]], requires_grad=True),
        impl.tensor([[2.0, 1.0], [-1.5, 3.0], [0.0, 1.0]]).t().requires_grad_(),
    ]
    tensors: list[Any] = list(leaves)
    for operation, a, b in plan.steps:
        x, y = tensors[a % len(tensors)], tensors[b % len(tensors)]
        if operation < len(UNARY):
            tensors.append(UNARY[operation](x))
        else:
            tensors.append(BINARY[operation - len(UNARY)](x, y))
    for i, kind in plan.hooks:
        hook_on(tensors[i], kind, seen)
    for leaf in leaves:
        leaf.register_post_accumulate_grad_hook(lambda x: seen.note("accumulated", x.grad))
    roots = [tensors[i] for i in plan.roots if tensors[i].requires_grad]
    inputs = None
    if plan.inputs is not None:
        inputs = [tensors[i] for i in plan.inputs if tensors[i].requires_grad]
    if not roots or inputs == []:
        return seen
    numbers = numbered(roots)
    with monkeypatch.context() as patch:
        patch.setattr(execution, "FAST_BACKWARD", fast)
        observe(numbers, seen, patch)
        seeds = [impl.full((2, 3), i + 1.0) for i in range(len(roots))]
        for number in range(plan.passes):
            keep = number + 1 < plan.passes
            if inputs is None:
                impl.autograd.backward(roots, seeds, retain_graph=keep)
            else:
                found = impl.autograd.grad(
                    roots, inputs, seeds, retain_graph=keep, allow_unused=True
                )
                for result in found:
                    seen.note("result", result)
            for tensor in tensors:
                if tensor.is_leaf or tensor.retains_grad:
                    seen.note("grad", tensor.grad)
    return seen


def hook_on(tensor: Any, kind: str, seen: Seen) -> None:
    """Observe a tensor, or its node, in one of the ways that users have."""
    if not tensor.requires_grad:
        return
    node = tensor.grad_fn
    if kind == "tensor":
        tensor.register_hook(lambda g: seen.note("hook", g))
    elif kind == "replace":
        tensor.register_hook(lambda g: g * 2)
    elif kind == "retain":
        tensor.retain_grad()
    elif kind == "node" and node is not None:
        node.register_hook(lambda inputs, outputs: [seen.note("node", g) for g in inputs] and None)
    elif node is not None:
        node.register_prehook(lambda outputs: [seen.note("pre", g) for g in outputs] and None)


def numbered(roots: list[Any]) -> dict[Any, int]:
    """Every node of the graph with its place in a walk from the roots."""
    numbers: dict[Any, int] = {}
    pending = [r.grad_fn for r in roots if r.grad_fn is not None]
    while pending:
        node = pending.pop()
        if node not in numbers:
            numbers[node] = len(numbers)
            pending += [n for n, _ in node.next_functions if n is not None]
    return numbers


def observe(numbers: dict[Any, int], seen: Seen, patch: pytest.MonkeyPatch) -> None:
    """Note which nodes run, in either loop, and which the fast one may go past."""
    evaluate = ArrayGradients.evaluate

    def evaluated(self: Any, node: Any, *rest: Any) -> Any:
        seen.nodes.append(numbers.get(node, -1))
        return evaluate(self, node, *rest)

    patch.setattr(ArrayGradients, "evaluate", evaluated)
    for node, number in numbers.items():
        compiled = node._compiled_backward
        if compiled is None:
            continue
        if node._is_identity or node._view_backward is not None:
            seen.skipped.add(number)

        def called(n: Any, *rest: Any, number: int = number, compiled: Any = compiled) -> Any:
            seen.nodes.append(number)
            return compiled(n, *rest)

        node._compiled_backward = called


@pytest.mark.skipif(not FAST_PATH, reason="the fast path is switched off for this run")
@settings(
    max_examples=300,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(plan=plans())
def test_the_fast_loop_does_what_the_reference_does(plan, monkeypatch):
    fast = carry_out(plan, True, monkeypatch)
    reference = carry_out(plan, False, monkeypatch)
    assert fast.values == reference.values
    may_skip = fast.skipped | reference.skipped
    assert [n for n in fast.nodes if n not in may_skip] == [
        n for n in reference.nodes if n not in may_skip
    ]
    assert set(fast.nodes) <= set(reference.nodes)


def recorded(plan: Plan, fast: bool, monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The results of a pass with create_graph, and their graph, by the fast paths or not."""
    leaves = [
        impl.tensor([[1.0, -2.0, 3.0], [0.5, 0.25, -1.0]], requires_grad=True),
        impl.tensor([[2.0, 1.0], [-1.5, 3.0], [0.0, 1.0]]).t().requires_grad_(),
    ]
    tensors: list[Any] = list(leaves)
    for operation, a, b in plan.steps:
        x, y = tensors[a % len(tensors)], tensors[b % len(tensors)]
        made = UNARY[operation](x) if operation < len(UNARY) else None
        tensors.append(BINARY[operation - len(UNARY)](x, y) if made is None else made)
    roots = [tensors[i] for i in plan.roots if tensors[i].requires_grad]
    if not roots:
        return []
    seen = Seen()
    for i, kind in plan.hooks:
        hook_on(tensors[i], kind, seen)
    inputs = [t for t in tensors if t.requires_grad][: 2 + plan.passes]
    seeds = [impl.full((2, 3), i + 1.0, requires_grad=True) for i in range(len(roots))]
    with monkeypatch.context() as patch:
        patch.setattr(operator_node, "FAST_PATH", fast)
        patch.setattr(execution, "FAST_BACKWARD", fast)
        found = impl.autograd.grad(roots, inputs, seeds, create_graph=True, allow_unused=True)
    for result in found:
        seen.note("result", result)
    kept = [g for g in found if g is not None and g.grad_fn is not None]
    numbers = numbered(kept)
    order = {node: i for i, node in enumerate(sorted(numbers, key=lambda n: n._sequence_nr()))}
    for node in numbers:
        edges = [(order.get(n), i) for n, i in node.next_functions]
        seen.values.append((node.name(), order[node], edges))
    for result in impl.autograd.grad(kept, [*leaves, *seeds], kept, allow_unused=True):
        seen.note("second", result)
    return seen.values


@pytest.mark.skipif(not FAST_PATH, reason="the fast path is switched off for this run")
@settings(
    max_examples=300,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(plan=plans())
def test_the_fast_paths_record_what_the_reference_does(plan, monkeypatch):
    assert recorded(plan, True, monkeypatch) == recorded(plan, False, monkeypatch)


@pytest.mark.skipif(not FAST_PATH, reason="the fast path is switched off for this run")
def test_compiled_formulas_check_what_was_saved():
    x = impl.tensor([1.0, 2.0], requires_grad=True)
    y = x.exp()
    loss = (y * y).sum()
    impl.autograd.grad(loss, x, create_graph=True)
    with impl.no_grad():
        y.mul_(2)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        impl.autograd.grad(loss, x, create_graph=True)
    other = (x * x).sum()
    other.backward()
    with pytest.raises(RuntimeError, match="second time"):
        impl.autograd.grad(other, x, create_graph=True)


def test_the_reference_loop_runs_when_the_fast_one_is_off(monkeypatch):
    monkeypatch.setattr(execution, "FAST_BACKWARD", False)
    monkeypatch.setattr("impl.engine.fast_backward.run", None)
    monkeypatch.setattr("impl.engine.fast_recording.run", None)
    x = impl.tensor([1.0, 2.0], requires_grad=True)
    (x * x).sum().backward()
    assert x.grad.tolist() == [2.0, 4.0]
    (gradient,) = impl.autograd.grad((x * x).sum(), x, create_graph=True)
    assert gradient.tolist() == [2.0, 4.0]
