"""Random programs: the Hypothesis strategy that draws them."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from typing import Any

from hypothesis import strategies as st

from conformance.fuzz.moves import MOVES
from conformance.fuzz.program_builder import COTANGENTS, LAYOUTS, SPECIAL, ProgramBuilder
from conformance.fuzz.themes import THEMES
from conformance.program.givens import Given
from conformance.program.program import Program
from conformance.samples.drawing import strides_of

# Shrinking goes towards the front.
SHAPES = (
    *((), (1,), (2,), (3,), (2, 2), (2, 3), (3, 2), (1, 3), (2, 1), (3, 3)),
    *((2, 2, 2), (2, 1, 3), (2, 3, 2), (0,), (2, 0)),
)


@st.composite
def programs(draw: Any, theme: str = "chains") -> Program:
    """Strategy for programs of a theme: tensors, one to four moves, backward from the last result.

    Raises KeyError for a theme that does not exist.
    """
    moves = THEMES[theme]
    builder = ProgramBuilder(draw)
    shape = builder.pick(SHAPES)
    special = builder.pick((False, False, True))
    first = builder.leaf(shape, builder.pick(("float64", "float32")), special=special)
    if "write" in moves and builder.pick((True, True, False)):
        builder.result(f"{first.name} * 1", shape, [first], builder.scale(first))
    for _ in range(draw(st.integers(1, 4))):
        target = (
            builder.live[-1]
            if builder.pick((True, True, True, False))
            else builder.pick(builder.live)
        )
        if not MOVES[builder.pick(moves)](builder, target):
            MOVES["view"](builder, target)
    root = next((t for t in reversed(builder.live) if t.requires_grad), builder.live[-1])
    builder.givens.append(_cotangent(builder, root.shape, root.dtype))
    ending = builder.pick(("once", "once", "twice"))
    if ending == "twice":
        builder.lines.append(f"{root.name}.backward(v, retain_graph=True)")
    builder.lines.append(f"{root.name}.backward(v)")
    return named(tuple(builder.givens), builder.lines, theme)


def _cotangent(builder: ProgramBuilder, shape: tuple[int, ...], dtype: str) -> Given:
    layout = builder.pick(LAYOUTS)
    strides = strides_of(shape, layout) if layout else None
    pool = [*COTANGENTS, *SPECIAL] if builder.pick((False, False, False, True)) else COTANGENTS
    values = builder.values(pool, shape, strides is not None and 0 in strides)
    return Given("v", dtype, shape, values, strides)


def named(givens: Sequence[Given], lines: Sequence[str], theme: str) -> Program:
    """The program of these tensors and lines; its ID is the hash of its content."""
    source = "\n".join(lines) + "\n"
    content = json.dumps([[g.to_json() for g in givens], source], sort_keys=True)
    digest = hashlib.sha256(content.encode()).hexdigest()[:12]
    return Program(
        id=f"fuzz/{digest}",
        area="fuzz",
        source=source,
        sentence=f"a random program ({theme}) on which a backend once diverged",
        givens=tuple(givens),
        dtype=givens[0].dtype if givens else None,
    )
