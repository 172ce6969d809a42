"""impl's engine: leaves, order, hooks and grad mode; the suite compares values."""

from __future__ import annotations

import random
import warnings
import weakref
from typing import Any

import pytest
import torch
from made_graphs import leaf

import impl

# -- leaves -----------------------------------------------------------------------------------


def test_a_leaf_has_one_accumulator_while_a_graph_holds_it():
    x = leaf()
    first, second, third = x * 2, x + 1, x.view(2, 2)
    nodes = {y.grad_fn.next_functions[0][0] for y in (first, second, third)}
    assert len(nodes) == 1
    (node,) = nodes
    assert node.variable is x and node.name() == "torch::autograd::AccumulateGrad"
    watched = weakref.ref(node)
    del first, second, third, node, nodes
    assert watched() is None
    assert (x * 2).grad_fn.next_functions[0][0].variable is x


def test_a_leaf_receives_the_sum_of_all_uses_once():
    x = leaf()
    hooks: list = []
    x.register_hook(lambda gradient: hooks.append(gradient.tolist()))
    x.register_post_accumulate_grad_hook(lambda variable: hooks.append(variable is x))
    (x * 2 + x * 3 + x).sum().backward()
    assert hooks == [[6.0] * 4, True]


# -- order ------------------------------------------------------------------------------------


def ran(namespace, seed: int, roots: int = 1) -> list[str]:
    """The order in which the nodes of a random graph run; the same graph for the same seed."""
    draw = random.Random(seed)
    order: list[str] = []
    values = [namespace.ones(2, requires_grad=True) for _ in range(3)]
    for number, x in enumerate(values):
        x.register_hook(lambda _, number=number: order.append(f"leaf {number}"))
    for step in range(25):
        a, b = draw.choice(values[-8:]), draw.choice(values[-3:])
        kind = draw.randrange(5)
        if kind == 0:
            new = a * b
        elif kind == 1:
            new = a.sin()
        elif kind == 2:
            new = namespace.stack([a, b, a]).sum(0)
        elif kind == 3:
            new = a.view(2, 1).unbind(0)[draw.randrange(2)].expand(2)
        else:
            new = b + 1
            new.add_(a)
        new.grad_fn.register_prehook(lambda _, step=step: order.append(f"step {step}"))
        values.append(new)
    outputs = [v.sum() for v in draw.sample(values[3:], roots)]
    namespace.autograd.backward(outputs)
    return order


@pytest.mark.parametrize("roots", [1, 3])
def test_nodes_run_in_torchs_order(roots):
    lengths = set()
    for seed in range(40):
        expected = ran(torch, seed, roots)
        assert ran(impl, seed, roots) == expected, f"seed {seed}"
        lengths.add(len(expected))
    assert max(lengths) > 15


def test_nodes_run_from_the_latest_to_the_earliest_and_sinks_at_once():
    order: list[str] = []
    x, w = leaf(), leaf()
    for name, tensor in {"x": x, "w": w}.items():
        tensor.register_hook(lambda _, name=name: order.append(name))
    a = x * 2
    b = x * 3
    c = a * w
    for name, tensor in {"a": a, "b": b, "c": c}.items():
        tensor.grad_fn.register_prehook(lambda _, name=name: order.append(name))
    (b + c).sum().backward()
    assert order == ["c", "w", "b", "a", "x"]


def test_sequence_numbers_grow_and_sinks_come_last():
    x = leaf()
    y = x * 2
    z = y + 1
    sink = y.grad_fn.next_functions[0][0]
    assert y.grad_fn._sequence_nr() < z.grad_fn._sequence_nr() < sink._sequence_nr()


# -- hooks and grad mode ----------------------------------------------------------------------


class Trouble(Exception):
    pass


def fail(*_):
    raise Trouble


def in_tensor_hook(x):
    x.register_hook(fail)


def in_prehook(x):
    x.grad_fn.register_prehook(fail)


def in_node_hook(x):
    x.grad_fn.register_hook(fail)


def in_leaf_hook(x):
    x.grad_fn.next_functions[0][0].variable.register_post_accumulate_grad_hook(fail)


@pytest.mark.parametrize("mode", [True, False])
@pytest.mark.parametrize("record", [True, False])
@pytest.mark.parametrize("place", [in_tensor_hook, in_prehook, in_node_hook, in_leaf_hook])
def test_an_exception_leaves_the_grad_mode_as_it_was(place, record, mode):
    x, other = leaf(), leaf()
    y = x * 2
    place(y)
    root = (y * y).sum()
    with impl.set_grad_enabled(mode), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of the cycle that create_graph makes
        with pytest.raises(Trouble):
            root.backward(create_graph=record)
        assert impl.is_grad_enabled() is mode
    (other * 3).sum().backward()
    assert other.grad.tolist() == [3.0] * 4


def test_an_exception_in_a_formula_leaves_the_grad_mode_as_it_was():
    x = leaf()
    y = x * 2
    root = (y * y).sum()
    y.zero_()
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        root.backward()
    assert impl.is_grad_enabled()
    assert x.grad is None


@pytest.mark.parametrize("record", [True, False])
def test_hooks_run_in_the_mode_of_their_backward(record):
    x = leaf()
    modes: list = []
    y = x * 2
    y.register_hook(lambda g: modes.append((impl.is_grad_enabled(), g.requires_grad)))
    with impl.set_grad_enabled(not record):
        impl.autograd.grad((y * y).sum() if not record else _recorded(y), x, create_graph=record)
    assert modes == [(record, record)]


def _recorded(y):
    with impl.enable_grad():
        return (y * y).sum()


def test_a_hook_may_run_a_backward_of_its_own():
    x, w = leaf(), leaf()
    log: list = []

    def hook(gradient):
        assert not impl.is_grad_enabled()
        with impl.enable_grad():
            (w * w * w).sum().backward()
        assert not impl.is_grad_enabled()
        log.append((w.grad.tolist(), gradient.tolist()))

    y = x * 3
    y.register_hook(hook)
    (y * y).sum().backward()
    assert log == [([3.0, 12.0, 27.0, 48.0], [6.0, 12.0, 18.0, 24.0])]
    assert x.grad.tolist() == [18.0, 36.0, 54.0, 72.0]


def test_nested_backwards_may_reach_the_same_leaf():
    x = leaf(2.0)

    def hook(gradient):
        with impl.enable_grad():
            (x * 5).backward()

    y = x * 3
    y.register_hook(hook)
    y.backward()
    assert x.grad.item() == 8.0


def _behind_a_transpose(t: Any, use: str, watched: str) -> Any:
    """The gradient at a leaf behind `t()`, its strides, and the order of the hooks' calls."""
    told: list[str] = []
    w, v = t.ones(2, 3, requires_grad=True), t.full((4, 3), 2.0, requires_grad=True)
    if use == "later":
        early = w.t()
        turned, other = early, t.mm(v, early).square()
        result = t.mm(other, t.ones(2, 2)).sum() + early.sum()
    elif use == "broadcast":
        turned = w.t()
        result = (t.ones(3, 1) * 3 + turned).sum()
    elif use == "twice":
        turned = w.t()
        result = t.mm(v, turned).sum() + w.sum()
    else:
        turned = w.t()
        result = t.mm(v, turned).sum()
    if watched == "leaf":
        w.register_hook(lambda g: told.append(f"w {g.stride()}"))
        v.register_hook(lambda g: told.append("v"))
    elif watched == "view":
        turned.register_hook(lambda g: told.append(f"turned {tuple(g.stride())}"))
    elif watched == "node":
        turned.grad_fn.register_hook(lambda i, o: told.append(f"node {len(i)} {len(o)}"))
    elif watched == "accumulated":
        w.register_post_accumulate_grad_hook(lambda leaf: told.append("w"))
        v.register_post_accumulate_grad_hook(lambda leaf: told.append("v"))
    elif watched == "retained":
        turned.retain_grad()
    result.backward(retain_graph=True)
    first = w.grad.tolist(), w.grad.stride(), w.grad._version, w.grad._is_view()
    result.backward()
    kept = turned.grad
    return told, first, w.grad.tolist(), None if kept is None else kept.tolist()


@pytest.mark.parametrize("watched", ["nothing", "leaf", "view", "node", "accumulated", "retained"])
@pytest.mark.parametrize("use", ["once", "twice", "later", "broadcast"])
@pytest.mark.filterwarnings("ignore:The .grad attribute of a Tensor that is not a leaf")
def test_a_leaf_behind_a_transpose_gets_what_torch_gives_it(use: str, watched: str) -> None:
    assert _behind_a_transpose(impl, use, watched) == _behind_a_transpose(torch, use, watched)


def test_a_written_gradient_keeps_its_version_where_its_input_was_a_sum() -> None:
    """The formula of `max` writes once, whatever the version of the gradient that arrives."""
    x = impl.tensor(2.0, requires_grad=True)
    y = x.max()
    (y * y).backward()
    assert x.grad._version == 1
