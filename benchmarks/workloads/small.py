"""Workloads of many small operations, dominated by the engine's overhead."""

from __future__ import annotations

import sys

import numpy as np

from workloads.registry import workload


def _chain(y, w, b, length: int):
    for _ in range(length // 4):
        y = y * w
        y = y + b
        y = y * w
        y = y - b
    return y


def _small(shape):
    """The operands of a chain: the differentiated value, and two constants."""
    return tuple(np.full(shape, v, np.float32) for v in (0.5, 1.0001, 0.0001))


def _total(value):
    return value if value.ndim == 0 else value.sum()


def _register_chain(name: str, shape) -> None:
    @workload(name, "torch")
    def torch_like(t):
        x, w, b = (t.tensor(v) for v in _small(shape))
        x.requires_grad_()

        def step():
            _total(_chain(x, w, b, 1000)).backward()
            x.grad = None

        return step

    @workload(name, "autograd")
    def hips(autograd):
        x, w, b = _small(shape)
        numpy = autograd.numpy
        gradient = autograd.grad(lambda x: numpy.sum(_chain(x, w, b, 1000)))
        return lambda: gradient(x)

    @workload(name, "mygrad")
    def mygrad(mg):
        values, w, b = _small(shape)
        x = mg.tensor(values)

        def step():
            _chain(x, w, b, 1000).sum().backward()
            x.null_grad()

        return step


_register_chain("1,000 scalar operations", ())
_register_chain("1,000 operations on 32 elements", (32,))


@workload("1,000 scalar operations", "micrograd")
def _(engine):
    x = engine.Value(0.5)
    sys.setrecursionlimit(10_000)  # autograd's depth-first search is recursive

    def step():
        _chain(x, 1.0001, 0.0001, 1000).backward()

    return step


def additions(y, b, count: int = 100_000):
    """A chain of additions."""
    for _ in range(count):
        y = y + b
    return y


@workload("100,000 additions", "torch")
def _(t):
    x, b = t.tensor(0.5, requires_grad=True), t.tensor(1e-5)

    def step():
        additions(x, b).backward()
        x.grad = None

    return step


@workload("100,000 additions", "autograd")
def _(autograd):
    gradient = autograd.grad(lambda x: additions(x, np.float32(1e-5)))
    return lambda: gradient(np.float32(0.5))


@workload("100,000 additions", "mygrad")
def _(mg):
    x = mg.tensor(np.float32(0.5))

    def step():
        additions(x, np.float32(1e-5)).backward()
        x.null_grad()

    return step


def uses(x, c, count: int = 10_000):
    """The sum of products with one leaf, which is used once in each."""
    total = x * c
    for _ in range(count - 1):
        total = total + x * c
    return total.sum()


def _leaf():
    return np.full(1000, 0.5, np.float32), np.full(1000, 1.5, np.float32)


@workload("one leaf used 10,000 times", "torch")
def _(t):
    x, c = (t.tensor(v) for v in _leaf())
    x.requires_grad_()

    def step():
        uses(x, c).backward()
        x.grad = None

    return step


@workload("one leaf used 10,000 times", "autograd")
def _(autograd):
    x, c = _leaf()
    gradient = autograd.grad(lambda x: autograd.numpy.sum(uses(x, c)))
    return lambda: gradient(x)


@workload("one leaf used 10,000 times", "mygrad")
def _(mg):
    values, c = _leaf()
    x = mg.tensor(values)

    def step():
        uses(x, c).backward()
        x.null_grad()

    return step


@workload("one leaf added 100,000 times", "torch")
def _(t):
    x, zero = t.tensor(0.5, requires_grad=True), t.tensor(0.0)

    def step():
        additions(zero, x).backward()
        x.grad = None

    return step


@workload("double backward", "torch")
def _(t):
    rng = np.random.default_rng(0)
    x = t.tensor(rng.standard_normal(64).astype(np.float32)).requires_grad_()
    w = t.tensor((rng.standard_normal((64, 64)) / 8).astype(np.float32)).requires_grad_()

    def step():
        y = x
        for _ in range(10):
            y = t.tanh(w @ y) * x
        (gradient,) = t.autograd.grad((y * y).sum(), x, create_graph=True)
        (gradient * gradient).sum().backward()
        x.grad = w.grad = None

    return step


@workload("indexing by 512 integers", "torch")
def _(t):
    rng = np.random.default_rng(0)
    table = t.tensor(rng.standard_normal((1000, 64)).astype(np.float32)).requires_grad_()
    rows = t.tensor(rng.integers(0, 1000, 512))

    def step():
        table[rows].sum().backward()
        table.grad = None

    return step


@workload("printing a large tensor", "torch")
def _(t):
    rng = np.random.default_rng(0)
    large = t.tensor(rng.standard_normal((1000, 1000)).astype(np.float32))
    whole = t.tensor(rng.standard_normal((30, 30)).astype(np.float32))
    return lambda: (repr(large), repr(whole))


def _view_writes(t):
    x = t.full((1000,), 0.5, requires_grad=True)
    y = x * 1.0
    part = y[10:20]
    for _ in range(1000):
        part.mul_(1.001)
    y.sum().backward()


@workload("1,000 in-place operations on a view", "torch")
def _(t):
    return lambda: _view_writes(t)


@workload("1,000 in-place operations on a view", "mygrad")
def _(mg):
    def step():
        x = mg.full((1000,), 0.5, dtype=np.float32)
        y = x * 1.0
        part = y[10:20]
        for _ in range(1000):
            part *= 1.001
        y.sum().backward()

    return step
