"""Hooks on the creation of nodes: the nodes that they get, in order, as in torch."""

import threading

import pytest
import torch

import impl

BOTH = (torch, impl)


def write_to_view(t, x):
    z = x * 1
    z[0].mul_(2)


def read_view_after_write(t, x):
    z = x * 1
    view = z[:2]
    z.mul_(2)
    view.grad_fn  # noqa: B018


def assign(t, x):
    z = t.zeros(3)
    z[0] = x[0]


def custom_function(t, x):
    class Twice(t.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * 2

        @staticmethod
        def backward(ctx, grad):
            return grad * 2

    Twice.apply(x)


def checkpointed(t, x):
    checkpoint = t.utils.checkpoint.checkpoint
    checkpoint(lambda v: v.sin().cos(), x, use_reentrant=False).sum().backward()


CASES = [
    lambda t, x: x * 2,
    lambda t, x: (x * 2, x + 3),
    lambda t, x: (x * 1).mul_(2),
    lambda t, x: x.split(1),
    lambda t, x: t.cat([x, x]),
    lambda t, x: t.ones(3) * 2,
    lambda t, x: t.nn.functional.linear(
        t.ones(2, 3), x.expand(4, 3), t.ones(4, requires_grad=True)
    ),
    lambda t, x: t.autograd.grad((x * x).sum(), x, create_graph=True),
    lambda t, x: (x * x).sum().backward(),
    write_to_view,
    read_view_after_write,
    assign,
    custom_function,
    checkpointed,
]


def names_of(t, case) -> list[str]:
    x, names = t.ones(3, requires_grad=True), []
    with t.autograd.graph.node_creation_hook(lambda node: names.append(type(node).__name__)):
        case(t, x)
    return names


@pytest.mark.parametrize("number", range(len(CASES)))
def test_the_nodes_are_those_of_torch_in_its_order(number):
    assert names_of(impl, CASES[number]) == names_of(torch, CASES[number])


@pytest.mark.parametrize("t", BOTH)
def test_a_node_is_complete_when_a_hook_gets_it(t):
    x, seen = t.ones(3, requires_grad=True), []

    def look(node):
        if node.next_functions:
            seen.append((node._saved_self.shape, node.next_functions[0][1]))

    with t.autograd.graph.node_creation_hook(look):
        x.pow(2)
    assert seen == [((3,), 0)]


@pytest.mark.parametrize("t", BOTH)
def test_hooks_nest_end_with_their_block_and_are_the_threads_own(t):
    x, seen = t.ones(3, requires_grad=True) * 1, []
    hook = t.autograd.graph.node_creation_hook
    with hook(lambda node: seen.append("outer")):
        with hook(lambda node: seen.append("inner")):
            x + 1
        x + 1
        thread = threading.Thread(target=lambda: x + 1)
        thread.start()
        thread.join()
    x + 1
    assert seen == ["outer", "inner", "outer"]


@pytest.mark.parametrize("t", BOTH)
def test_a_hook_raises_to_the_caller_and_may_create_no_node(t):
    x = t.ones(3, requires_grad=True) * 1
    hook = t.autograd.graph.node_creation_hook
    with pytest.raises(ZeroDivisionError), hook(lambda node: 1 / 0):
        x * 2
    refused = pytest.raises(RuntimeError, match="got a new node of type SinBackward0")
    with refused, hook(lambda node: x.sin()):
        x * 2
    with pytest.raises(TypeError, match="Callable"), hook(3):
        pass
    assert (x * 2).grad_fn is not None


@pytest.mark.parametrize("t", BOTH)
def test_callbacks_run_after_the_pass(t):
    x, seen = t.ones(3, requires_grad=True), []
    queue = t.autograd.graph.queue_callback
    x.register_hook(lambda grad: queue(lambda: seen.append(x.grad.tolist())))
    (x * 2).sum().backward()
    assert seen == [[2.0, 2.0, 2.0]]
    with pytest.raises(RuntimeError, match="during backward pass"):
        queue(print)
