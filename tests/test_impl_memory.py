"""impl's memory: graphs are freed by reference counts, saved tensors after their use."""

from __future__ import annotations

import pickle
import weakref
from collections.abc import Callable

import pytest
from made_graphs import leaf, without_collector

import impl
from impl.graph.node import Node


def graph_of(*tensors) -> list[Node]:
    """Every node below the tensors' histories, each once."""
    found: dict[Node, None] = {}
    pending = [t.grad_fn for t in tensors]
    while pending:
        node = pending.pop()
        if node is not None and node not in found:
            found[node] = None
            pending.extend(following for following, _ in node.next_functions)
    return list(found)


def through_a_view(x):
    y = x * 1
    y[1:3].exp_()
    return y


def retaining(x):
    y = (x * 2).exp()
    y.retain_grad()
    return y


def hooked(x):
    y = (x * 2).exp()
    y.register_hook(lambda gradient: gradient * 2)
    y.grad_fn.register_hook(lambda inputs, outputs: None)
    y.grad_fn.register_prehook(lambda outputs: None)
    return y


# Operators that save their output: a saved tensor with the history would be a reference cycle.
KEEPERS: dict[str, Callable] = {
    "exp": lambda x: x.exp(),
    "sigmoid": lambda x: x.sigmoid(),
    "tanh": lambda x: x.tanh(),
    "sqrt": lambda x: x.sqrt(),
    "rsqrt": lambda x: x.rsqrt(),
    "reciprocal": lambda x: x.reciprocal(),
    "softmax": lambda x: x.softmax(0),
    "log_softmax": lambda x: x.log_softmax(0),
    "relu": lambda x: x.relu(),
    "amax": lambda x: x.amax(),
    "max": lambda x: x.max(0)[0],
    "sort": lambda x: x.sort()[0],
    "cummax": lambda x: x.cummax(0)[0],
    "cumprod": lambda x: x.cumprod(0),
    "prod": lambda x: x.prod(),
    "norm": lambda x: x.norm(),
    "logsumexp": lambda x: x.logsumexp(0),
    "std": lambda x: x.std(),
    "pow": lambda x: x**x,
    "sigmoid_": lambda x: (x * 1).sigmoid_(),
    "zero-dim": lambda x: x[0].exp(),
    "unbind": lambda x: x.unbind(0)[1],
    "view of a view": lambda x: x.view(2, 2)[0].t(),
    "through_a_view": through_a_view,
    "retaining": retaining,
    "hooked": hooked,
}


@pytest.mark.parametrize("use", ["nothing", "backward", "grad of grad"])
@pytest.mark.parametrize("name", KEEPERS)
def test_a_graph_is_freed_without_the_garbage_collector(name, use):
    with without_collector():
        x = leaf()
        y = KEEPERS[name](x)
        watched = [weakref.ref(o) for o in (x, y, *graph_of(y))]
        if use == "backward":
            y.sum().backward()
        elif use == "grad of grad":
            (gradient,) = impl.autograd.grad(y.sum(), x, create_graph=True)
            if gradient.requires_grad:
                watched += [weakref.ref(node) for node in graph_of(gradient)]
                gradient.sum().backward()
            del gradient
        assert len(watched) > 2
        del x, y
        assert [w() for w in watched if w() is not None] == []


def test_backward_with_create_graph_makes_the_cycle_it_warns_of():
    """The leaf's `.grad` has a history that leads to the leaf; dropping `.grad` breaks it."""
    with without_collector():
        x = leaf()
        with pytest.warns(UserWarning, match="reference cycle"):
            (x * x).sum().backward(create_graph=True)
        watched = weakref.ref(x)
        x.grad = None
        del x
        assert watched() is None


# The tensor that the node saves: its input or its result.
SAVERS: dict[str, tuple[Callable, str]] = {
    "mul": (lambda h: h * h, "input"),
    "exp": (lambda h: h.exp(), "result"),
    "matmul": (lambda h: h.matmul(h), "input"),
    "view": (lambda h: h.view(20, 25).sin(), "input"),
    "in place": (lambda h: (h + 0).sigmoid_(), "result"),
}


@pytest.mark.parametrize("name", SAVERS)
def test_backward_releases_what_was_saved(name):
    make, which = SAVERS[name]
    with without_collector():
        x = impl.ones(500, requires_grad=True)
        h = x * 2
        y = make(h)
        root = y.sum()
        saved = weakref.ref((h if which == "input" else y)._raw)
        del h, y
        assert saved() is not None
        root.backward(retain_graph=True)
        assert saved() is not None
        root.backward()
        assert saved() is None
        assert root.grad_fn is not None


def test_a_released_graph_says_so_and_leaves_the_gradient_alone():
    x = impl.ones(3, requires_grad=True)
    root = (x * x).sum()
    root.backward()
    with pytest.raises(RuntimeError, match="backward through the graph a second time"):
        root.backward()
    assert x.grad.tolist() == [2.0] * 3


def test_gradients_of_a_chain_do_not_pile_up():
    """An array that no further node needs is freed before the next node runs."""
    seen: list[weakref.ref] = []
    alive: list[int] = []

    def watch(gradient):
        alive.append(sum(r() is not None for r in seen))
        seen.append(weakref.ref(gradient._raw))

    y = leaf()
    for _ in range(50):
        y = y * 2
        y.register_hook(watch)
    y.sum().backward()
    assert len(alive) == 50
    assert max(alive) <= 2


def test_the_first_gradient_is_taken_over_and_not_copied():
    x = leaf()
    seen: list = []
    y = x * 2
    y.grad_fn.register_hook(lambda inputs, outputs: seen.append(inputs[0].data_ptr()))
    y.sum().backward()
    assert x.grad.data_ptr() == seen[0]
    # With another reference to it, it is copied.
    x.grad = None
    kept: list = []
    y = x * 2
    y.grad_fn.register_hook(lambda inputs, outputs: kept.append(inputs[0]))
    y.sum().backward()
    assert x.grad.data_ptr() != kept[0].data_ptr()
    assert x.grad.tolist() == kept[0].tolist() == [2.0] * 4


@pytest.mark.parametrize("make", [lambda: impl.nn.Parameter(impl.ones(2)), lambda: leaf().detach()])
def test_pickling_works_in_an_ordinary_program_too(make):
    """The harness, in which the chapters' programs run, imports differently."""
    source = make()
    copy = pickle.loads(pickle.dumps(source))
    assert type(copy) is type(source)
    assert copy.tolist() == source.tolist()
    assert copy.requires_grad == source.requires_grad
    copy.data.add_(1)
    assert copy.tolist() != source.tolist()
