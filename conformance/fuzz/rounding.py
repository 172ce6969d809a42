"""Differences that rounding explains: the oracle alone shows them when inputs change a bit."""

from __future__ import annotations

import itertools
import math
import re
import struct
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

from conformance.base.tolerances import PRECISIONS, tolerance
from conformance.compare.verdict import Divergence
from conformance.observe.trace import Observation, Trace
from conformance.program.program import Program

_FLOAT = re.compile(r"(?<![\w.'])\d+(?:\.\d+(?:e[+-]?\d+)?|e[+-]?\d+)")
_NUMBER = re.compile(r"(?<!\w)[-+]?(?:\d+\.?\d*(?:e[+-]?\d+)?|inf|nan)")
_ONES = re.compile(r"torch\.ones\((\d+), (\d+)")
_DECOMPOSES = re.compile(
    r"linalg|nuc|\b(?:svd\w*|pinverse|qr|eig\w*|slogdet|logdet|det|inverse|\w*solve|lstsq|lu(?:_\w+)?"
    r"|polar|cholesky\w*)\b"
)
CHANGES = (1, -1, 2, -2)
"""By how many roundings the inputs are changed: several, since chaos may hide in one."""
SHARE = 1 / 8
"""The part of a difference that a change of the inputs has to make to explain it."""


def is_rounding(
    program: Program, divergence: Divergence, expected: Trace, oracle: Callable[[Program], Trace]
) -> bool:
    """Whether two values agree to the precision in which they were computed or printed, or the
    oracle's own value moves as much when all inputs grow or shrink by a rounding or two.

    Equal inputs stay equal, and zeros stay zero, so no convention at a kink is explained away;
    except where a program decomposes matrices, of which those with equal rows are the singular
    ones: there each number moves by itself.
    """
    if _agree(divergence.expected, divergence.got, divergence.index):
        return True
    difference = _distance(divergence.expected, divergence.got, divergence.index)
    if not difference:  # none, or that of two zeros
        return False
    # A value that a singular matrix leaves open may move by its own size, and no less than that.
    decomposes = _decomposes(program.source)
    size = min(difference, _size(divergence.expected)) if decomposes else difference
    for changed in _changed(program.source, _eps(expected)):
        if changed == program.source:
            continue
        moved = oracle(replace(program, source=changed))
        for value in _values(moved, divergence):
            distance = _distance(divergence.expected, value, divergence.index)
            if distance is not None and distance >= SHARE * size:
                return True
    return False


def _size(values: Any) -> float:
    """The largest magnitude among numbers, infinite where there are none."""
    numbers = values if isinstance(values, list) else [values]
    sizes = [abs(n) for n in numbers if isinstance(n, int | float) and math.isfinite(n)]
    return max(sizes, default=0.0) or math.inf


def _changed(source: str, eps: float) -> Iterator[str]:
    """The source with inputs that differ by a rounding or two."""
    for times in CHANGES:
        yield _FLOAT.sub(lambda m: repr(float(m[0]) * (1 + times * eps)), source)  # noqa: B023
    if _decomposes(source):
        written = _ONES.sub(_written_out, source)
        for times in CHANGES:
            noise = itertools.cycle((times, 0, -times, 2 * times, -2 * times, 0, 3 * times))
            yield _FLOAT.sub(lambda m: repr(_noisy(float(m[0]), next(noise) * eps)), written)  # noqa: B023


def _decomposes(source: str) -> bool:
    """Whether a program decomposes matrices, or solves by a decomposition."""
    return _DECOMPOSES.search(source) is not None


def _noisy(number: float, part: float) -> float:
    return number * (1 + part) if number else part


def _written_out(ones: re.Match[str]) -> str:
    """A matrix of ones as a literal."""
    rows, columns = int(ones[1]), int(ones[2])
    row = ", ".join(["1.0"] * columns)
    return f"torch.tensor([{', '.join([f'[{row}]'] * rows)}]"


def _agree(one: Any, other: Any, index: int | None) -> bool:
    """Whether two texts differ in the last digits of their numbers alone, or two numbers are of
    float32, whatever dtype they were stored in, and agree within its tolerance."""
    if isinstance(one, str) and isinstance(other, str):
        pairs = _pairs(one, other)
        return (
            bool(pairs) and one != other and all(map(_agree_as_printed, *zip(*pairs, strict=True)))
        )
    one, other = _elements(one, other, index)
    if not (isinstance(one, float) and isinstance(other, float)) or not (one and other):
        return False
    narrow = max(abs(one), abs(other)) < 1e38 and all(map(_is_single, (one, other)))
    limits = tolerance("float32")
    return narrow and abs(one - other) <= limits.atol + limits.rtol * abs(one)


def _elements(one: Any, other: Any, index: int | None) -> tuple[Any, Any]:
    """The elements of two lists at an index; of lists that have none there, None twice; other
    values as they are."""
    if not (isinstance(one, list) and isinstance(other, list)) or index is None:
        return one, other
    if len(one) != len(other) or index >= len(one):
        return None, None
    return one[index], other[index]


def _is_single(number: float) -> bool:
    """Whether float32 has the number."""
    return struct.unpack("f", struct.pack("f", number))[0] == number


def _agree_as_printed(one: str, other: str) -> bool:
    """Whether two printed numbers are the same, or differ by one in the last digit or by float32's
    rounding; the signs of zeros count."""
    if one == other:
        return True
    a, b = float(one), float(other)
    if not (a and b and math.isfinite(a - b)):
        return False
    digits = min(len(text.partition("e")[0].partition(".")[2]) for text in (one, other))
    exponent = int(one.partition("e")[2] or 0)
    unit = 10.0 ** (exponent - digits)
    return abs(a - b) <= max(1.001 * unit if digits else 0.0, tolerance("float32").rtol * abs(a))


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
    one, other = _elements(one, other, index)
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
    distances = [abs(float(a) - float(b)) for a, b in _pairs(one, other) if a != b]
    return max((float("inf") if d != d else d for d in distances), default=None)


def _pairs(one: str, other: str) -> list[tuple[str, str]]:
    """The numbers in the same place of texts that are otherwise equal, but for spaces."""
    around = ["".join(_NUMBER.sub("#", text).split()) for text in (one, other)]
    if around[0] != around[1]:
        return []
    return list(zip(_NUMBER.findall(one), _NUMBER.findall(other), strict=True))
