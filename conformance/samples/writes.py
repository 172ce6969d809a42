"""Samples that write: an operator's in-place spelling, and writes through the views it returns."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace

from conformance.samples.drawing import broadcast
from conformance.samples.operator import Operator
from conformance.samples.sample import Sample, fields_of


def inplace(operator: Operator, plain: Sample) -> Iterator[Sample]:
    """The in-place spelling, on a tensor that is no leaf, on a view of one, and where refused."""
    if not operator.inplace:
        return
    first = operator.inputs[0]
    shape = broadcast([e.shape for e in operator.inputs]) if operator.pointwise else first.shape
    written = replace(
        plain,
        label="in-place",
        probe="in place, on a tensor that is no leaf",
        call=operator.inplace,
        result=shape,
        outputs=("h",),
        before=(f"h = {first.name} * 1",),
        inplace=True,
        names={first.name: "h"},
    )
    yield replace(written, widths=(*written.widths, *operator.halves[:1]))
    usual = replace(written, widths=("float32",))
    yield replace(
        usual,
        label="in-place-overwritten",
        probe="its in-place result overwritten through detach() before backward",
        after=("h.detach().zero_()",),
    )
    others = [e.name for e in operator.inputs[1:] if e.differentiable]
    for name in others:
        if name in fields_of(operator.inplace):
            yield replace(
                usual,
                label=f"in-place-{name}-overwritten",
                probe=f"in place, then {name} overwritten through detach() before backward",
                after=(f"{name}.detach().zero_()",),
            )
    if operator.pointwise:
        yield replace(
            usual,
            label="in-place-on-a-view",
            probe="in place, on a row of a tensor that is no leaf",
            names={first.name: "h[0]"},
            inputs={name: (3,) for name in others},
        )
        if len(others) == 1 and operator.integers:
            yield replace(
                usual,
                label="in-place-wider-second",
                probe="in place, on float32 by float64, which keeps its type",
                dtypes={others[0]: "float64"},
            )
        yield replace(
            usual,
            label="in-place-transposed",
            probe="in place, on a column-major tensor",
            layouts={first.name: "transposed"},
        )
    unwritten = replace(usual, before=(), names={}, outputs=(first.name,))
    if others:
        yield replace(
            unwritten,
            label="in-place-into-a-constant",
            probe="in place, on a leaf that does not require grad",
            requires=frozenset(others),
        )
    if operator.leaf_refusal:
        yield replace(
            unwritten,
            label="in-place-unrecorded",
            probe="in place, nothing requiring grad",
            requires=frozenset(),
        )
        yield replace(
            unwritten,
            label="in-place-on-a-leaf",
            probe="in place on a leaf that requires grad, which is refused",
            result=None,
        )
        yield replace(
            unwritten,
            label="in-place-on-a-view-of-a-leaf",
            probe="in place on a view of a leaf that requires grad, which is refused",
            names={first.name: f"{first.name}[0]"},
            inputs={name: (3,) for name in others} if operator.pointwise else {},
            result=None,
        )


def writes_through_views(operator: Operator, plain: Sample) -> Iterator[Sample]:
    """A view written in place, seen by its base, and the other way round."""
    if operator.unlinked:
        return
    based = replace(plain, before=("h = x * 1",), names={"x": "h"})
    yield replace(
        based,
        label="base-written",
        probe="the base written in place, seen by the view",
        after=("h.mul_(-2.0)",),
    )
    refusal = "-refused" if operator.overlapping else ""
    yield replace(
        based,
        label=f"view-written{refusal}",
        probe="the view written in place and differentiated"
        + (", which is refused as its elements overlap" if refusal else ""),
        after=("y.mul_(-2.0)",),
        result=None if refusal else plain.result,
    )
    if not operator.overlapping:
        yield replace(
            based,
            label="base-of-written-view",
            probe="the view written in place, its base differentiated",
            after=("y.mul_(-2.0)",),
            result={"h": operator.inputs[0].shape},
        )
        shape = operator.inputs[0].shape
        memory = f"torch.arange({math.prod(shape) + 2}.)[2:].reshape({shape})"
        yield replace(
            based,
            label="base-with-an-offset",
            probe="the view written in place, of a base that begins inside its storage",
            before=(f"h = {memory}.detach()", f"w = {plain.call.format(x='x')}.sum()"),
            after=("y.mul_(w)",),
            result={"h": shape},
        )
