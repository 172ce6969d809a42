"""Random programs: hypothesis draws them, and what diverges is shrunk and kept to be replayed."""

from __future__ import annotations

import hashlib
import json
import random
import shlex
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from importlib import resources
from pathlib import Path
from typing import Any
from unittest.mock import patch

from hypothesis import HealthCheck, Phase, find, settings
from hypothesis import strategies as st
from hypothesis.errors import NoSuchExample
from hypothesis.internal.conjecture import providers

from conformance.failure import failure
from conformance.judge import Judge
from conformance.known import KnownDivergences
from conformance.moves import COTANGENTS, LAYOUTS, MOVES, SPECIAL, Writer
from conformance.options import Settings, command
from conformance.plan import WrongInput, identities
from conformance.program import Given, Program
from conformance.release import checkout
from conformance.runs import LEVELS
from conformance.samples.drawing import strides_of
from conformance.suite import Selection
from conformance.themes import EXAMPLES, SHARE, THEMES

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


@dataclass(frozen=True)
class Share:
    """A part of a theme's programs that one search draws; its number decides which."""

    theme: str
    number: int
    examples: int
    total: int  # of the theme, in all its shares

    def __str__(self) -> str:
        return self.theme if self.total == self.examples else f"{self.theme}-{self.number}"


def shares(themes: Sequence[str] = (), examples: int = EXAMPLES) -> list[Share]:
    """The searches that draw so many programs of each theme; of every theme, if none is named.

    They depend on nothing else, so that programs are the same however searches are distributed.
    Raises WrongInput for a theme that does not exist.
    """
    for theme in themes:
        if theme not in THEMES:
            raise WrongInput(f"there is no theme {theme!r}. There are: {', '.join(THEMES)}.")
    sizes = [min(SHARE, examples - done) for done in range(0, examples, SHARE)]
    return [
        Share(theme, number, size, examples)
        for number, size in enumerate(sizes)
        for theme in (dict.fromkeys(themes) or THEMES)
    ]


def sought(judge: Judge, examples: int, seed: int, theme: str, share: int = 0) -> Search:
    """As `search`, with a judge that is set up already. Raises HarnessFault."""
    outcomes: Counter[str] = Counter()

    def diverges(program: Program) -> bool:
        line = judge.line(program)
        outcomes[line["outcome"]] += 1
        return differs(line)

    try:
        with _no_constants():
            program = find(
                programs(theme),
                diverges,
                settings=profile(examples),
                random=random.Random(f"{seed}/{theme}/{share}"),
            )
    except NoSuchExample:
        return Search(outcomes, None)
    return Search(outcomes, Finding(program, judge.line(program)))


@contextmanager
def _no_constants() -> Iterator[None]:
    """Keep hypothesis from drawing numbers that it has read in the modules loaded so far.

    Which modules those are differs between an installed suite and a checkout, and from one process
    to the next; the programs drawn must not.
    """
    provider = getattr(providers, "HypothesisProvider", None)
    if not hasattr(provider, "_maybe_draw_constant"):
        yield  # a version that does not do so
        return
    with patch.object(provider, "_maybe_draw_constant", lambda *_, **__: None):
        yield


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
    """Where findings are written by default.

    In a source checkout that is where the suite replays them from; an installed package is not
    written to, so elsewhere it is `findings` in the current folder.
    """
    return own_folder() if checkout() else Path("findings")


def own_folder() -> Path:
    """Where the suite's own findings are, which every run replays."""
    return Path(str(resources.files("conformance").joinpath("findings")))


def keep(finding: Finding, place: Path | None = None) -> Path:
    """Write the finding to a file that the suite can replay; returns its path. Raises OSError."""
    path = (place or folder()) / finding.file_name
    path.parent.mkdir(parents=True, exist_ok=True)
    program = replace(finding.program, file=None, line=None)
    path.write_text(json.dumps(program.to_json(), indent=1) + "\n", "utf-8")
    return path


@dataclass(frozen=True)
class Report:
    """What a search says: how many programs had which outcome, and what was found.

    ``line`` is the finding's line of a run file, ``message`` the finding for a reader, and where it
    is kept; ``fault`` says what went wrong in the harness itself.
    """

    outcomes: Mapping[str, int]
    line: Mapping[str, Any] | None = None
    message: str | None = None
    fault: str | None = None

    def to_json(self) -> dict[str, Any]:
        """The report as it travels between processes."""
        return {**vars(self), "outcomes": dict(self.outcomes)}


def report(judge: Judge, share: Share, keep_in: Path | None) -> Report:
    """Search, and keep what is found in the folder ``keep_in``, if one is given."""
    asked = judge.settings
    try:
        search = sought(judge, share.examples, asked.seed, share.theme, share.number)
    except HarnessFault as fault:
        return Report({}, fault=str(fault))
    if search.finding is None:
        return Report(search.outcomes)
    show, note = again(asked, share), "it is not kept"
    if keep_in is not None:
        try:
            path = keep(search.finding, keep_in)
        except OSError as error:
            note = f"it could not be kept: {error}"
        else:
            own = path.parent.resolve() == own_folder().resolve()
            show = command(asked if own else replace(asked, findings=keep_in), f"fuzz/{path.stem}")
            replay = f"conform run --findings {shlex.quote(str(keep_in))} replays it"
            note = f"written to {path}: {'the suite replays it from now on' if own else replay}"
    message = f"{failure(search.finding.line, asked, show)}\n  {note}"
    return Report(search.outcomes, search.finding.line, message)


def again(asked: Settings, share: Share) -> str:
    """The shell command that draws a share's programs again."""
    words = ["conform", "fuzz", "--backend", asked.backend, "--oracle", asked.oracle]
    words += ["--theme", share.theme, "--examples", str(share.total), "--seed", str(asked.seed)]
    for module in asked.imports:
        words += ["--import", module]
    if asked.selection.levels != LEVELS:
        words += [word for level in asked.selection.levels for word in ("--level", level)]
    return shlex.join(words)
