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

_FLOAT = re.compile(r"(?<![\w.'])\d+(?:\.\d+(?:e[+-]?\d+)?|e[+-]?\d+)")
_NUMBER = re.compile(r"(?<!\w)[-+]?(?:\d+\.?\d*(?:e[+-]?\d+)?|inf|nan)")
CHANGES = (1, -1, 2, -2)
"""By how many roundings the inputs are changed: several, since chaos may hide in one."""
SHARE = 1 / 8
"""The part of a difference that a change of the inputs has to make to explain it."""


def is_rounding(
    program: Program, divergence: Divergence, expected: Trace, oracle: Callable[[Program], Trace]
) -> bool:
    """Whether the oracle's own value moves as much when all inputs grow or shrink by a rounding
    or two.

    Equal inputs stay equal, and zeros stay zero, so no convention at a kink is explained away.
    """
    difference = _distance(divergence.expected, divergence.got, divergence.index)
    if not difference:  # none, or that of two zeros
        return False
    eps = _eps(expected)
    for times in CHANGES:
        changed = _FLOAT.sub(lambda m: repr(float(m[0]) * (1 + times * eps)), program.source)  # noqa: B023
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
    """How far two numbers, elements of two lists, or numbers in two texts lie apart; None where
    they are none."""
    if isinstance(one, str) and isinstance(other, str):
        return _distance_of_texts(one, other)
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


def _distance_of_texts(one: str, other: str) -> float | None:
    """The largest difference of two numbers in the same place of texts that are otherwise equal,
    but for spaces."""
    around = ["".join(_NUMBER.sub("#", text).split()) for text in (one, other)]
    if around[0] != around[1]:
        return None
    pairs = zip(_NUMBER.findall(one), _NUMBER.findall(other), strict=True)
    distances = [abs(float(a) - float(b)) for a, b in pairs if a != b]
    return max((float("inf") if d != d else d for d in distances), default=None)
