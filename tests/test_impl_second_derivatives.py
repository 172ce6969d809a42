"""First and second derivatives of every operator, by each way there is: those of torch on impl."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch

import impl
from conformance.suite.subjects import Subject, subjects

SUBJECTS = [s for s in subjects() if not any("complex" in given.dtype for given in s.givens)]
# Of which torch refuses one way: a mean of losses whose cotangent is a ZeroTensor.
OPEN = {("nn.functional.binary_cross_entropy", "rf")}
SHARE = 20


def _function(subject: Subject, lib: Any) -> tuple[Callable, tuple, tuple]:
    """The subject's results, weighed and summed, as a function of its leaves; these, and a
    direction for each."""
    names: dict[str, Any] = {"torch": lib}
    parameters = [given.name for given in subject.givens]
    lines = [given.source() for given in subject.givens]
    lines += [f"def call({', '.join(parameters)}):", *(f"    {line}" for line in subject.body)]
    exec("\n".join(lines), names)
    leaves = tuple(names[name].detach() for name in subject.leaves)
    directions = tuple(
        lib.cos(lib.arange(leaf.numel(), dtype=lib.float64) * 1.3 + i).reshape(leaf.shape)
        for i, leaf in enumerate(leaves)
    )

    def function(*values):
        given = {name: names[name] for name in parameters} | dict(
            zip(subject.leaves, values, strict=True)
        )
        total = 0.0
        for result in names["call"](*given.values()):
            weights = lib.sin(lib.arange(result.numel(), dtype=lib.float64) + 1)
            part = result.abs() if result.is_complex() else result
            total = total + (part * weights.reshape(result.shape)).sum()
        return total

    return function, leaves, directions


def _derivatives(subject: Subject, lib: Any) -> Iterator[tuple[str, float | str]]:
    """The derivatives along the directions: by a tangent (t), a gradient (g), and one of the other,
    as numbers or names of errors."""
    function, leaves, directions = _function(subject, lib)
    func, numbers = lib.func, tuple(range(len(leaves)))

    def dot(gradients):
        return sum((g * d).sum() for g, d in zip(gradients, directions, strict=True))

    def gradient(of):
        return lambda *values: dot(func.grad(of, argnums=numbers)(*values))

    def tangent(of):
        return lambda *values: func.jvp(of, values, directions)[1]

    t, g = tangent(function), gradient(function)
    for way, of in {
        **{"t": t, "g": g, "ff": tangent(t), "rr": gradient(g)},
        **{"fr": tangent(g), "rf": gradient(t)},
    }.items():
        try:
            yield way, float(of(*leaves))
        except (RuntimeError, NotImplementedError, TypeError) as error:
            yield way, type(error).__name__


def _agree(one: float | str, other: float | str) -> bool:
    if isinstance(one, str) or isinstance(other, str):
        return one == other
    return math.isclose(one, other, rel_tol=1e-6, abs_tol=1e-6) or math.isnan(one + other)


@pytest.mark.slow
@pytest.mark.parametrize("part", range(SHARE))
def test_derivatives_are_those_of_torch_by_each_way(part):
    differ = []
    for subject in SUBJECTS[part::SHARE]:
        found = zip(_derivatives(subject, torch), _derivatives(subject, impl), strict=True)
        for (way, expected), (_, got) in found:
            if not _agree(expected, got) and (subject.name, way) not in OPEN:
                differ.append((subject.name, way, expected, got))
    assert not differ
