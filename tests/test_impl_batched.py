"""A backward pass with batched seeds (`is_grads_batched`), as hooks and Functions see it."""

from __future__ import annotations

from typing import Any

import pytest

import impl
from impl.core.state import STATE
from impl.tensor import legacy_batched_tensor


def through(hook: Any, *, seeds: Any = None) -> Any:
    """The gradient of x * x for a batch of seeds, with a hook on the product."""
    x = impl.tensor([1.0, 2.0, 3.0], requires_grad=True)
    y = x * x
    y.register_hook(hook)
    seeds = impl.eye(3) if seeds is None else seeds
    return impl.autograd.grad(y, x, seeds, is_grads_batched=True)[0].tolist()


@pytest.mark.parametrize(
    "hook",
    [
        lambda g: (g[..., None] * impl.ones(1, 3)).sum(-1),
        lambda g: impl.stack([g, g, g]).sum(0),
        lambda g: impl.cat([g[:1] * 3, g[1:] * 3]),
        lambda g: g + g.view(3).t() + g.clone().mul_(1),
        lambda g: impl.where(g > 0, g * 3, g * 3),
        lambda g: impl.split(g, [3])[0] * 3,
        lambda g: g.reshape(1, 3).expand(3, 3).sum(0),
        lambda g: impl.zeros_like(g).add_(g) * 3,
        lambda g: g * (1 + 2 * impl.isin(g, impl.tensor([1.0]))),
    ],
)
def test_what_a_hook_computes_is_computed_for_each_row(hook):
    assert through(hook) == [[6, 0, 0], [0, 12, 0], [0, 0, 18]]


@pytest.mark.parametrize(
    ("look", "text"),
    [
        (lambda g: g.detach(), "Batching rule not implemented for aten::detach"),
        (lambda g: g.data, "Batching rule not implemented for aten::detach"),
        (lambda g: f"{g.sum()}", "Batching rule not implemented for aten::detach"),
        (lambda g: g.equal(g), "Batching rule not implemented for aten::equal"),
        (lambda g: g.bernoulli(), "random operations inside of vmap"),
        (lambda g: g[g > 0], "equal size, but got .1. at entry 0 and .2. at entry 1"),
        (lambda g: impl.nonzero(g), "Cannot access data pointer"),
        (lambda g: g._raw + 1, "Cannot access data pointer"),
        (lambda g: g._raw.max(), "Cannot access data pointer"),
    ],
)
def test_nobody_takes_one_row_for_all(look, text):
    with pytest.raises(RuntimeError, match=text):
        through(look, seeds=impl.tensor([[0.0, 0.5, 0], [0.1, 0.2, 0]]))


def test_several_outputs_are_batches():
    def hook(g):
        values, places = g.max(0)
        assert type(values) is type(places) is legacy_batched_tensor.Batched
        return g * values + places.sum() * 0

    assert through(hook, seeds=impl.tensor([[1.0, 2, 0], [3, 0, 0]])) == [[4, 16, 0], [18, 0, 0]]


def test_the_mode_ends_with_the_pass_whatever_a_hook_raises():
    with pytest.raises(ZeroDivisionError):
        through(lambda g: 1 / 0)
    with pytest.raises(RuntimeError, match="Batching rule not implemented for aten::item"):
        through(lambda g: float(g.sum()))
    assert not STATE.batched and STATE.fast_path == 1


def test_without_anybody_who_sees_it_a_batch_is_a_pass_for_each_row(monkeypatch):
    monkeypatch.setattr(legacy_batched_tensor, "batch", None)  # not called
    x = impl.tensor([1.0, 2.0], requires_grad=True)
    rows = impl.autograd.grad(x * x, x, impl.eye(2), is_grads_batched=True)[0]
    assert rows.tolist() == [[2, 0], [0, 4]]


def test_a_gradient_that_is_kept_stays_a_batch():
    x = impl.tensor([1.0, 2.0], requires_grad=True)
    y = x * x
    y.retain_grad()
    impl.autograd.grad(y * 2, x, impl.eye(2), is_grads_batched=True)
    assert y.grad.shape == (2,)
