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


def test_hooks_of_a_saved_tensor_stay_when_the_pack_hook_fails():
    def fails(tensor):
        raise ValueError("no")

    x = impl.tensor([1.0, 2.0], requires_grad=True)
    h, y = x * 2, x.exp()
    z = h.sin()
    failed, written = z.grad_fn._raw_saved_self, y.grad_fn._raw_saved_result
    with pytest.raises(ValueError, match="no"):
        failed.register_hooks(fails, fails)
    with pytest.raises(RuntimeError, match="the pack hook raised before saving data"):
        z.sum().backward()
    with pytest.raises(RuntimeError, match="is modifying its input in place"):
        written.register_hooks(lambda t: t.fill_(5.0), lambda t: t + 1)
    assert y.grad_fn._saved_result.tolist() == [6.0, 6.0]
    for saved in (failed, written):
        with pytest.raises(RuntimeError, match="hooks have already been set"):
            saved.register_hooks(impl.clone, impl.clone)


def test_a_saved_tensor_that_was_shown_without_hooks_is_read_as_before():
    x = impl.tensor([0.0, 0.0], requires_grad=True)
    y = x.exp()
    assert y.grad_fn._raw_saved_result is not None
    assert y.grad_fn._saved_result.grad_fn is y.grad_fn
    (slope,) = impl.autograd.grad(y.sum(), x, create_graph=True)
    assert slope.tolist() == [1.0, 1.0] and slope.requires_grad
