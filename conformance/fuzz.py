"""Random programs: hypothesis draws them, and what diverges is shrunk and kept to be replayed."""

from __future__ import annotations

import hashlib
import json
import random
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from importlib import resources
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, Phase, find, settings
from hypothesis import strategies as st
from hypothesis.errors import NoSuchExample

from conformance.judge import Judge
from conformance.known import KnownDivergences
from conformance.moves import COTANGENTS, LAYOUTS, MOVES, SPECIAL, Writer
from conformance.options import Settings
from conformance.plan import WrongInput, identities
from conformance.program import Given, Program
from conformance.runs import LEVELS
from conformance.samples.drawing import strides_of
from conformance.suite import Selection

EXAMPLES = 200
"""Programs drawn of each theme unless another number is asked for."""

THEMES: dict[str, tuple[str, ...]] = {
    "pointwise": ("one tensor", "two tensors", "one tensor", "two tensors", "choice"),
    "reductions": ("along", "two tensors", "copy"),
    "views": ("view", "copy", "joined", "one tensor"),
    "writes": ("write", "view", "two tensors", "one tensor"),
    "products": ("product", "view", "along"),
    "chains": tuple(MOVES),
}
"""Kinds of program: the moves each is made of, the simplest first."""

# Shrinking goes towards the front.
SHAPES = (
    *((), (1,), (2,), (3,), (2, 2), (2, 3), (3, 2), (1, 3), (2, 1), (3, 3)),
    *((2, 2, 2), (2, 1, 3), (2, 3, 2), (0,), (2, 0)),
)


class HarnessFault(Exception):
    """The oracle or the comparison failed on a random program; says why, and on which."""


@dataclass(frozen=True)
class Finding:
    """A program on which the backend diverges, shrunk, and its line of a run file."""

    program: Program
    line: dict[str, Any]

    @property
    def file_name(self) -> str:
        """The name of the finding's file: its content hash."""
        return self.program.id.removeprefix("fuzz/") + ".json"


@st.composite
def programs(draw: Any, theme: str = "chains") -> Program:
    """Strategy for programs of a theme: tensors, one to four moves, a backward from what came last.

    Raises KeyError for a theme that does not exist.
    """
    moves = THEMES[theme]
    w = Writer(draw)
    shape = w.pick(SHAPES)
    special = w.pick((False, False, True))
    first = w.leaf(shape, w.pick(("float64", "float32")), special=special)
    if "write" in moves and w.pick((True, True, False)):
        w.result(f"{first.name} * 1", shape, [first], w.scale(first))
    for _ in range(draw(st.integers(1, 4))):
        target = w.live[-1] if w.pick((True, True, True, False)) else w.pick(w.live)
        if not MOVES[w.pick(moves)](w, target):
            MOVES["view"](w, target)
    root = next((t for t in reversed(w.live) if t.requires_grad), w.live[-1])
    w.givens.append(_cotangent(w, root.shape, root.dtype))
    ending = w.pick(("once", "once", "twice"))
    if ending == "twice":
        w.lines.append(f"{root.name}.backward(v, retain_graph=True)")
    w.lines.append(f"{root.name}.backward(v)")
    return named(tuple(w.givens), w.lines, theme)


def _cotangent(w: Writer, shape: tuple[int, ...], dtype: str) -> Given:
    layout = w.pick(LAYOUTS)
    strides = strides_of(shape, layout) if layout else None
    pool = [*COTANGENTS, *SPECIAL] if w.pick((False, False, False, True)) else COTANGENTS
    values = w.values(pool, shape, strides is not None and 0 in strides)
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


@dataclass(frozen=True)
class Search:
    """What came of a search: how many programs had which outcome, and what was found, if anything.

    The counts include the programs tried while shrinking.
    """

    outcomes: Counter[str]
    finding: Finding | None


def search(
    backend: str = "impl",
    oracle: str = "torch",
    examples: int = EXAMPLES,
    seed: int = 0,
    *,
    theme: str = "chains",
    levels: Sequence[str] = LEVELS,
    isolation: bool = True,
    imports: Sequence[str] = (),
) -> Search:
    """Draw up to `examples` programs and shrink the first on which the backend diverges.

    A backend that hangs or dies on a program diverges too; one that lacks something does not. The
    same arguments draw the same programs. Raises WrongInput for a backend that cannot be found or
    whose device is missing, KeyError for an unknown theme.
    """
    asked = Settings(
        backend=backend,
        oracle=oracle,
        imports=tuple(imports),
        isolation=isolation,
        selection=Selection(levels=tuple(levels)),
    )
    if reason := identities(asked)[2]:
        raise WrongInput(reason)
    judge = Judge(asked, KnownDivergences())
    try:
        return sought(judge, examples, seed, theme)
    finally:
        judge.close()


def sought(judge: Judge, examples: int, seed: int, theme: str) -> Search:
    """As `search`, with a judge that is set up already. Raises HarnessFault."""
    outcomes: Counter[str] = Counter()

    def diverges(program: Program) -> bool:
        line = judge.line(program)
        outcomes[line["outcome"]] += 1
        return differs(line)

    try:
        program = find(
            programs(theme),
            diverges,
            settings=profile(examples),
            random=random.Random(f"{seed}/{theme}"),
        )
    except NoSuchExample:
        return Search(outcomes, None)
    return Search(outcomes, Finding(program, judge.line(program)))


def differs(line: dict[str, Any]) -> bool:
    """Whether a program's line is a finding: it diverges, or the backend broke down.

    Raises HarnessFault where the oracle or the comparison broke down.
    """
    if line["outcome"] == "error" and not line["reason"].startswith("the backend"):
        raise HarnessFault(f"{line['reason']}\n{line['source']}")
    return line["outcome"] in ("diverges", "error")


def profile(examples: int) -> settings:
    """Settings under which a search depends on nothing but its seed: no database, no deadline."""
    return settings(
        max_examples=examples,
        database=None,
        deadline=None,
        phases=(Phase.generate, Phase.shrink),
        suppress_health_check=list(HealthCheck),
    )


def folder() -> Path:
    """Where findings are kept, and from where the suite replays them."""
    return Path(str(resources.files("conformance").joinpath("findings")))


def keep(finding: Finding, place: Path | None = None) -> Path:
    """Write the finding to a file that the suite replays; returns its path. Raises OSError."""
    path = (place or folder()) / finding.file_name
    path.parent.mkdir(parents=True, exist_ok=True)
    program = replace(finding.program, file=None, line=None)
    path.write_text(json.dumps(program.to_json(), indent=1) + "\n", "utf-8")
    return path


def kept(finding: Finding, place: Path | None = None) -> str:
    """Keep the finding, as far as that is possible, and say where."""
    try:
        return f"written to {keep(finding, place)}: the suite replays it from now on"
    except OSError as error:
        return f"could not be kept for replay: {error}"
