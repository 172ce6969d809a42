"""Workloads of random numbers: 100,000 of each distribution, and a network's first parameters."""

from __future__ import annotations

import math

from workloads.registry import workload

COUNT = 100_000


def _register_fills(name: str, fills) -> None:
    """A workload that fills tensors of float32 and float64 with each of the methods in turn."""

    @workload(name, "torch")
    def torch_like(t):
        targets = [t.empty(COUNT, dtype=dtype) for dtype in (t.float32, t.float64)]

        def step():
            for target in targets:
                for method, *arguments in fills:
                    getattr(target, method)(*arguments)

        return step


_register_fills("100,000 uniform numbers", [("uniform_",), ("uniform_", -0.1, 0.1)])
_register_fills("100,000 normal numbers", [("normal_",), ("normal_", 1.0, 0.02)])
_register_fills("100,000 log-normal numbers", [("log_normal_",)])
_register_fills("100,000 exponential numbers", [("exponential_",), ("exponential_", 2.0)])
_register_fills("100,000 Cauchy numbers", [("cauchy_",)])
_register_fills("100,000 geometric numbers", [("geometric_", 0.3)])


@workload("100,000 integers and a permutation", "torch")
def _(t):
    def step():
        t.randint(0, 10, (COUNT,))
        t.randint(-(2**40), 2**40, (COUNT,))
        t.randperm(COUNT)

    return step


@workload("dropout of 100,000 elements", "torch")
def _(t):
    x = t.ones(COUNT)

    def step():
        t.nn.functional.dropout(x, 0.3)
        t.bernoulli(x, 0.25)

    return step


@workload("a network's first parameters", "torch")
def _(t):
    sizes = ((256, 784), (256, 256), (10, 256))

    def step():
        for dtype in (t.float32, t.float64):
            for size in sizes:
                weight = t.empty(size, dtype=dtype)
                t.nn.init.kaiming_uniform_(weight, a=math.sqrt(5))
                t.nn.init.xavier_normal_(weight)

    return step
