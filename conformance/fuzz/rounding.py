"""Differences that rounding explains: the oracle alone shows them when inputs change a bit."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

from conformance.base.tolerances import PRECISIONS
from conformance.compare.verdict import Divergence
from conformance.observe.trace import Observation, Trace
from conformance.program.program import Program

_FLOAT = re.compile(r"(?<![\w.'])\d+\.\d+(?:e[+-]?\d+)?")
SHARE = 1 / 8
"""The part of a difference that a change of the inputs has to make to explain it."""


def is_rounding(
    program: Program, divergence: Divergence, expected: Trace, oracle: Callable[[Program], Trace]
) -> bool:
    """Whether the oracle's own value moves as much when all inputs grow or shrink by a rounding.

    Equal inputs stay equal, and zeros stay zero, so no convention at a kink is explained away.
    """
    difference = _distance(divergence.expected, divergence.got, divergence.index)
    if difference is None:
        return False
    eps = _eps(expected)
    for sign in (1, -1):
        changed = _FLOAT.sub(lambda m: repr(float(m[0]) * (1 + sign * eps)), program.source)  # noqa: B023
        if changed == program.source:
            return False
        moved = oracle(replace(program, source=changed))
        for value in _values(moved, divergence):
            distance = _distance(divergence.expected, value, divergence.index)
            if distance is not None and distance >= SHARE * difference:
                return True
    return False


def _eps(trace: Trace) -> float:
    """One rounding of the coarsest dtype that the trace shows."""
    text = repr(trace.steps)
    bits = [p.bits for name, p in PRECISIONS.items() if f"'{name}'" in text]
    return 2.0 ** -min(bits, default=23)


def _values(trace: Trace, divergence: Divergence) -> Iterator[Any]:
    """The value of the diverging field in another trace of the program."""
    if divergence.step >= len(trace.steps):
        return
    step = trace.steps[divergence.step]
    seen: Any = step.result
    path = divergence.field
    if divergence.name is not None:
        seen = trace.state(divergence.step).get(divergence.name)
    else:
        path = path.removeprefix("result").removeprefix(".")
    yield _followed(seen, path)


def _followed(seen: Observation | None, path: str) -> Any:
    found: Any = seen
    for part in re.findall(r"\[[^\]]*\]|\w+", path):
        if part.startswith("["):
            items = found.get("items") if isinstance(found, dict) else None
            key = part[1:-1]
            if isinstance(items, list):
                found = items[int(key)] if key.isdecimal() and int(key) < len(items) else None
            else:
                found = items.get(key.strip("'")) if isinstance(items, dict) else None
        else:
            found = found.get(part) if isinstance(found, dict) else None
    return found


def _distance(one: Any, other: Any, index: int | None) -> float | None:
    """How far two numbers, or elements of two lists, lie apart; None where they are none."""
    if isinstance(one, list) and isinstance(other, list) and index is not None:
        if len(one) != len(other) or index >= len(one):
            return None
        one, other = one[index], other[index]
    parts = [v if isinstance(v, list) else [v] for v in (one, other)]
    if any(not isinstance(n, int | float | str) for part in parts for n in part):
        return None
    try:
        numbers = [complex(*map(float, part)) for part in parts]
    except (TypeError, ValueError):
        return None
    distance = abs(numbers[0] - numbers[1])
    return distance if distance == distance else float("inf")
