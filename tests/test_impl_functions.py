"""Custom Functions of impl, beyond their chapter: memory and the depth of graphs."""

from __future__ import annotations

import gc
import threading
import weakref
from typing import Any

import pytest

import impl

torch: Any = impl


class Square(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        out = x * x
        ctx.save_for_backward(x, out, x + 1)
        return out

    @staticmethod
    def backward(ctx, g):
        return g * 2 * ctx.saved_tensors[0]


@pytest.fixture
def no_collector():
    """Disables the garbage collector: memory must be freed by reference counts alone."""
    gc.disable()
    yield
    gc.enable()


def test_a_context_that_saved_its_own_output_is_freed_with_the_output(no_collector):
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    y = Square.apply(x)
    context = weakref.ref(y.grad_fn)
    assert context() is y.grad_fn
    del y
    assert context() is None


def test_backward_frees_what_was_saved(no_collector):
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    y = Square.apply(x)
    intermediate = weakref.ref(y.grad_fn.saved_tensors[2])
    y.sum().backward(retain_graph=True)
    assert intermediate() is not None
    y.sum().backward()
    assert intermediate() is None


def test_a_saved_tensor_may_be_detached_in_place_where_it_is_read():
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    h, k = x * 2, x * 3
    y, z = Square.apply(h), k.sin()
    h.detach_()
    k.detach_()
    y.sum().backward()
    assert x.grad.tolist() == [8.0, 16.0]
    assert z.grad_fn._saved_self is k and not k.requires_grad
    with pytest.raises(RuntimeError, match=r"has been detached in-place"):
        z.sum().backward()
    k.add_(1)
    with pytest.raises(RuntimeError, match="is at version 1; expected version 0"):
        _ = z.grad_fn._saved_self


def test_a_long_chain_of_functions_neither_recurses_nor_leaks(no_collector):
    x = torch.tensor(1.0, requires_grad=True)
    y = Square.apply(x)
    first = weakref.ref(y.grad_fn)
    for _ in range(10_000):
        y = Square.apply(y)
        y = y * 0.5 + 0.5  # at 1 the composition has derivative 1
    y.backward()
    assert x.grad.item() == 2.0
    assert first() is not None
    del y
    assert first() is None


def test_grad_mode_of_other_threads_is_not_touched_by_a_forward():
    modes = []

    class Waits(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            other = threading.Thread(target=lambda: modes.append(torch.is_grad_enabled()))
            other.start()
            other.join()
            return x * 1

    Waits.apply(torch.tensor(1.0))
    assert modes == [True]
