"""impl's autograd.grad and the functions built on it, beyond their chapter: depth, threads,
failures and memory."""

from __future__ import annotations

import sys
import threading
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from made_graphs import leaf, new_objects, without_collector

import impl as _impl
from impl.autograd import functional
from impl.core.state import STATE
from impl.engine import reentrant_backward
from impl.graph.node import Node

impl: Any = _impl  # its functions are attached at run time
gradcheck, gradgradcheck = impl.autograd.gradcheck, impl.autograd.gradgradcheck

MILLION = 1_000_000


@contextmanager
def switching_often() -> Iterator[None]:
    """Makes the interpreter switch threads as often as possible."""
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        yield
    finally:
        sys.setswitchinterval(interval)


def together(count: int, work: Callable[[], Any]) -> list:
    """The exceptions of `work()`, or None, in as many concurrent threads."""
    barrier = threading.Barrier(count)
    raised: list = [None] * count

    def run(number: int) -> None:
        barrier.wait()
        try:
            work()
        except BaseException as error:
            raised[number] = error

    threads = [threading.Thread(target=run, args=(n,)) for n in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return raised


# -- depth ------------------------------------------------------------------------------------


def test_a_million_nodes_are_recorded_differentiated_and_freed():
    assert sys.getrecursionlimit() < MILLION
    x = impl.tensor(1.0, requires_grad=True)
    with without_collector():
        y = x
        for _ in range(MILLION):
            y = y + 1
        first = weakref.ref(y.grad_fn)
        (gradient,) = impl.autograd.grad(y, x)
        y.backward()
        assert (gradient.item(), x.grad.item()) == (1.0, 1.0)
        del y
        assert first() is None


class Down(impl.autograd.Function):
    """A Function whose backward starts another pass one level below it, down to zero."""

    @staticmethod
    def forward(ctx, x, seen):
        with impl.enable_grad():
            ctx.x = x.detach().requires_grad_() - 1
        ctx.seen = seen
        return ctx.x.detach()

    @staticmethod
    def backward(ctx, gradient):
        if ctx.x > 0:
            with impl.enable_grad():
                Down.apply(ctx.x, ctx.seen).backward()
        ctx.seen.append((ctx.x.item(), threading.get_ident(), STATE.reentrant_depth))
        return gradient, None


def test_passes_within_passes_take_one_thread_for_every_few_levels():
    seen: list = []
    x = impl.tensor(200.0, requires_grad=True)
    Down.apply(x, seen).backward()
    assert [value for value, _, _ in seen] == [float(n) for n in range(200)]
    assert len({thread for _, thread, _ in seen}) == 200 // reentrant_backward.MAX_DEPTH
    assert {level for _, _, level in seen} == set(range(1, reentrant_backward.MAX_DEPTH + 1))
    assert seen[-1][1] == threading.get_ident()
    assert STATE.reentrant_depth == 0
    alive = {t.ident for t in threading.enumerate()} - {threading.get_ident()}
    assert not alive & {thread for _, thread, _ in seen}


def deepest(action: Callable[[], Any], levels: int = 3 * reentrant_backward.MAX_DEPTH) -> None:
    """Call `action` in a hook within a hook, some levels deep."""

    def hook(gradient):
        if levels > 1:
            deepest(action, levels - 1)
        else:
            action()

    with impl.enable_grad():
        y = leaf(1.0) * 2
        y.register_hook(hook)
        y.sum().backward()


def test_what_is_raised_deep_down_arrives():
    def action():
        raise KeyError("deep")

    with pytest.raises(KeyError, match="deep"):
        deepest(action)
    assert STATE.reentrant_depth == 0
    assert impl.is_grad_enabled()


def test_modes_hold_deep_down_and_what_is_set_there_ends_with_the_pass():
    seen: list[Any] = []
    saved: list[None] = []

    def action():
        seen.append(impl.is_grad_enabled())
        impl.set_grad_enabled(True)
        before = len(saved)
        leaf().exp()
        seen.append(len(saved) - before)

    def pack(tensor):
        saved.append(None)
        return tensor

    with impl.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor), impl.no_grad():
        deepest(action)
        assert not impl.is_grad_enabled()
    assert seen == [False, 1]


# -- threads ----------------------------------------------------------------------------------


@pytest.mark.parametrize("size", [4, 5000])  # NumPy lets other threads run in a large addition
@pytest.mark.parametrize("record", [False, True])
@pytest.mark.filterwarnings("ignore:Using backward")
def test_threads_lose_no_gradient_of_a_leaf_they_share(size: int, record: bool):
    x = impl.ones(size, requires_grad=True)
    ones = impl.ones(size)

    def work():
        for _ in range(25):
            (x * 2).backward(ones, create_graph=record)

    with switching_often():
        for _ in range(8):
            x.grad = None
            assert together(4, work) == [None] * 4
            assert set(x.grad.tolist()) == {200.0}


def test_threads_share_a_graph_that_is_kept():
    x = leaf(1.0, 2.0)
    y = x
    for _ in range(20):
        y = (y * 1.0) + x
    root = (y * y).sum()
    expected = impl.autograd.grad(root, x, retain_graph=True)[0].tolist()

    def work():
        for _ in range(20):
            (gradient,) = impl.autograd.grad(root, x, retain_graph=True)
            assert gradient.tolist() == expected

    with switching_often():
        assert together(4, work) == [None] * 4
    assert x.grad is None


# -- failures ---------------------------------------------------------------------------------


@pytest.mark.parametrize("create_graph", [False, True])
def test_a_pass_that_fails_leaves_nothing_behind(create_graph: bool):
    x = leaf()
    y = (x * x).exp()
    y.register_hook(lambda gradient: 1 / 0)
    before = dict(vars(STATE))
    with pytest.raises(ZeroDivisionError), without_collector():
        impl.autograd.grad(y.sum(), x, create_graph=create_graph)
    assert vars(STATE) == before
    node = weakref.ref(y.grad_fn)
    with without_collector():
        del y
        assert node() is None


# -- memory -----------------------------------------------------------------------------------


def twice(x):
    (g,) = impl.autograd.grad((x**3).sum(), x, create_graph=True)
    return impl.autograd.grad(g.sum(), x)


CALLS: dict[str, Callable[[Any], Any]] = {
    "grad": lambda x: impl.autograd.grad((x * x).sum(), x),
    "twice": twice,
    "unused": lambda x: impl.autograd.grad((x * x).sum(), [x, leaf()], allow_unused=True),
    "batched": lambda x: impl.autograd.grad(x * x, x, impl.eye(4), is_grads_batched=True),
    "jacobian": lambda x: functional.jacobian(lambda t: t * t, x),
    "recorded jacobian": lambda x: functional.jacobian(lambda t: t * t, x, create_graph=True),
    "hessian": lambda x: functional.hessian(lambda t: (t**3).sum(), x),
    "hvp": lambda x: functional.hvp(lambda t: (t**3).sum(), x, impl.ones(4)),
    "jvp": lambda x: functional.jvp(lambda t: t**3, x, impl.ones(4)),
    "forward": lambda x: functional.jacobian(
        lambda t: t * t, x, vectorize=True, strategy="forward-mode"
    ),
    "gradcheck": lambda x: gradcheck(lambda t: t * t, x.double(), check_forward_ad=True),
    "gradgradcheck": lambda x: gradgradcheck(lambda t: t**3, x.double(), fast_mode=True),
}


@pytest.mark.parametrize("name", CALLS)
def test_nothing_is_left_for_the_collector(name: str):
    x = leaf()
    CALLS[name](x)  # makes objects that are cached at first use
    with new_objects() as made:
        CALLS[name](x)
        assert not [o for o in made() if issubclass(type(o), Node)]


def test_a_cycle_is_left_for_the_collector():
    with new_objects() as made:
        y = leaf() * 2
        y.grad_fn.metadata["itself"] = y
        del y
        left = {type(o).__name__ for o in made() if issubclass(type(o), Node)}
    assert left == {"MulBackward0", "AccumulateGrad"}


# -- batches ----------------------------------------------------------------------------------

LAYOUTS: dict[str, Callable[[Any], Any]] = {
    "plain": lambda x: x * x,
    "expanded": lambda x: x.sum(0),
    "scalar": lambda x: x.sum(),
    "transposed": lambda x: x.t(),
    "selected": lambda x: x[1],
    "product": lambda x: x @ impl.arange(3.0),
}


@pytest.mark.parametrize("name", LAYOUTS)
@pytest.mark.parametrize("record", [False, True])
def test_a_batch_is_its_rows(name: str, record: bool):
    x = impl.arange(6.0).reshape(2, 3).requires_grad_()
    y = LAYOUTS[name](x)
    seeds = impl.arange(4.0 * y.numel()).reshape(4, *y.shape)
    (batch,) = impl.autograd.grad(
        y, x, seeds, is_grads_batched=True, retain_graph=True, create_graph=record
    )
    rows = [impl.autograd.grad(y, x, seed, retain_graph=True)[0] for seed in seeds]
    assert batch.tolist() == [row.tolist() for row in rows]
    if not batch.requires_grad:
        assert batch.stride()[1:] == rows[0].stride()
