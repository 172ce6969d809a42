"""The given tensors of a sample: their values, layouts and cotangents."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from conformance.program.givens import Given
from conformance.samples.operator import ANY, WHOLE, Input, Number, Shape

Element = Number | complex

BOOLS = (True, False, False, True, True)
SHORT = ("float16", "bfloat16")
SIGNS = (1.0, -1.0, 1.0, 1.0, -1.0, -1.0, 1.0)


def tensor_input(name: str, inputs: Sequence[Input]) -> Input:
    """The entry's input of that name, or a free one for a name that only a case mentions."""
    return next((entry for entry in inputs if entry.name == name), Input(name))


def shape_and_values(spec: Any) -> tuple[Shape, tuple[Number, ...] | None]:
    """An input's form in a case: a shape, (shape, flat values), nested lists or a number."""
    if isinstance(spec, tuple):
        if len(spec) == 2 and isinstance(spec[1], list):
            return tuple(spec[0]), tuple(spec[1])
        return spec, None
    shape: list[int] = []
    level: list[Any] = [spec]
    while isinstance(level[0], list):
        shape.append(len(level[0]))
        level = [element for row in level for element in row]
        if not level:
            break
    return tuple(shape), tuple(level)


def drawn(entry: Input, shape: Shape, dtype: str, seed: str) -> tuple[Element, ...]:
    """Distinct values of the input's domain, or a pattern of booleans."""
    count = math.prod(shape)
    if dtype == "bool":
        return tuple(BOOLS[k % len(BOOLS)] for k in range(count))
    domain = entry.domain
    if dtype.startswith("int"):
        domain = WHOLE if domain is ANY else domain.integers()
    draw = domain.halves if domain.summed and dtype in SHORT else domain.draw
    values = draw(count, f"{seed}/{entry.name}")
    if dtype.startswith("complex"):
        parts = ANY.draw(count, f"{seed}/{entry.name}/imaginary")
        return tuple(complex(a, b) for a, b in zip(values, parts, strict=True))
    return values


def strides_of(shape: Shape, layout: str) -> tuple[int, ...] | None:
    """Strides of a `transposed`, `stepped`, `expanded` or `channels-last` tensor; None where shape
    allows none.

    A dimension of size one has no stride worth the name, so it does not make a layout.
    """
    extended = sum(n > 1 for n in shape)
    if not extended or 0 in shape:
        return None
    if layout == "transposed":
        if extended < 2:
            return None
        return tuple(math.prod(shape[:k]) for k in range(len(shape)))
    if layout == "channels-last":
        if len(shape) not in (4, 5):
            return None
        order = (0, *range(2, len(shape)), 1)
        inner = {d: math.prod(shape[e] for e in order[k + 1 :]) for k, d in enumerate(order)}
        return tuple(inner[d] for d in range(len(shape)))
    step = 2 if layout == "stepped" else 1
    strides = [step * math.prod(shape[k + 1 :]) for k in range(len(shape))]
    if layout == "expanded":
        if len(shape) < 2 or shape[0] < 2:
            return None
        strides[0] = 0
    return tuple(strides)


def given(
    entry: Input,
    spec: Any,
    dtype: str,
    seed: str,
    *,
    requires_grad: bool = False,
    layout: str | None = None,
) -> Given:
    """The given tensor of an input as a sample wants it; `spec` None means as in the entry."""
    shape, fixed = (entry.shape, entry.values) if spec is None else shape_and_values(spec)
    values = drawn(entry, shape, dtype, seed) if fixed is None else fixed
    return _laid_out(entry.name, dtype, shape, values, layout, requires_grad)


def _laid_out(
    name: str,
    dtype: str,
    shape: Shape,
    values: tuple[Element, ...],
    layout: str | None,
    requires_grad: bool,
) -> Given:
    """The given tensor in that layout; an expanded one repeats its first row's values."""
    strides = strides_of(shape, layout) if layout else None
    if layout == "expanded" and strides is not None:
        values = values[: math.prod(shape[1:])] * shape[0]
    return Given(name, dtype, shape, values, strides, requires_grad)


def cotangent(
    name: str,
    shape: Shape,
    dtype: str,
    *,
    start: int = 0,
    requires_grad: bool = False,
    layout: str | None = None,
) -> Given:
    """A seed for backward: distinct magnitudes, mixed signs, exact in every float type."""
    count = math.prod(shape)
    values: tuple[Element, ...] = tuple(
        SIGNS[(start + k) % len(SIGNS)] * (0.5 + 0.25 * (start + k)) for k in range(count)
    )
    if dtype.startswith("complex"):
        values = tuple(complex(v, 1 - v / 2) for v in values)
    return _laid_out(name, dtype, shape, values, layout, requires_grad)


def broadcast(shapes: Sequence[Shape]) -> Shape:
    """The shape that pointwise operands of these shapes have together."""
    rank = max((len(s) for s in shapes), default=0)
    padded = [(1,) * (rank - len(s)) + tuple(s) for s in shapes]
    return tuple(next((n for n in sizes if n != 1), 1) for sizes in zip(*padded, strict=True))


def results_of(
    result: Shape | Mapping[str, Shape] | None, outputs: Sequence[str]
) -> dict[str, Shape]:
    """The outputs a cotangent seeds, by name; `result` of one tensor is that of the first."""
    if result is None:
        return {}
    return dict(result) if isinstance(result, Mapping) else {outputs[0]: tuple(result)}
