"""Lifetimes of impl's hooks and their tensors; the suite compares their effects."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Iterator
from typing import Any

import pytest

import impl
from impl.autograd import graph


@pytest.fixture(autouse=True)
def no_collector() -> Iterator[None]:
    """Disables the garbage collector: objects are freed by reference counts alone."""
    gc.disable()
    yield
    gc.enable()


def leaf() -> Any:
    return impl.tensor([1.0, 2.0], requires_grad=True)


def test_a_handle_does_not_keep_its_tensor():
    x = leaf()
    handle = x.register_hook(lambda gradient: gradient)
    tensor = weakref.ref(x)
    del x
    assert tensor() is None
    handle.remove()


def test_what_was_packed_goes_with_the_graph():
    class Box:
        pass

    boxes = []

    def pack(tensor):
        box = Box()
        boxes.append(weakref.ref(box))
        return box

    x = leaf()
    with graph.saved_tensors_hooks(pack, lambda box: x):
        y = x.exp().sin().sum()
    assert [box() is None for box in boxes] == [False, False]
    del y
    assert [box() is None for box in boxes] == [True, True]


def test_a_detached_output_in_a_pack_hook_makes_no_cycle():
    x = leaf()
    with graph.saved_tensors_hooks(lambda t: t.detach(), lambda t: t):
        y = x.exp()
    node = weakref.ref(y.grad_fn)
    del y
    assert node() is None


def test_a_multi_grad_hook_keeps_no_pass_and_no_gradient():
    x, w = leaf(), leaf()
    gradients = []
    graph.register_multi_grad_hook((x, w), lambda grads: gradients.extend(map(weakref.ref, grads)))
    (x * w).sum().backward()
    assert [gradient() for gradient in gradients] == [None, None]


def test_mutation_lets_go_of_copies_when_they_are_used():
    x = leaf()
    with graph.allow_mutation_on_saved_tensors() as context:
        y = x.exp()
        y.detach().zero_()
        y.sum().backward()
        assert not any(context.held.values())


def test_mutation_lets_go_of_everything_at_its_end():
    x = leaf()
    with graph.allow_mutation_on_saved_tensors():
        h = x * 1
        y = h.sin()
        saved = weakref.ref(h)
        del h
        assert saved() is not None
    assert saved() is None
    del y
