"""Shares: the programs of a theme that one search draws, one after the other."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from conformance.execution.execute import quiet, silent
from conformance.fuzz.causes import Cause
from conformance.fuzz.choices import Choices
from conformance.fuzz.coverage import Coverage
from conformance.fuzz.examiner import Examiner
from conformance.fuzz.programs import Source, named
from conformance.fuzz.shrinking import shrunk
from conformance.fuzz.themes import EXAMPLES, SHARE, THEMES
from conformance.program.program import Program
from conformance.run.plan import WrongInput

CORPUS = "corpus"
"""The theme of the share that replays the corpus."""

Progress = Callable[[int, str], None]
EMPTY: Mapping[int, str] = {}


@dataclass(frozen=True)
class Share:
    """The part of a theme's programs that one search draws; its number seeds the search."""

    theme: str
    number: int
    examples: int
    total: int  # of the theme, in all its shares

    def __str__(self) -> str:
        return self.theme if self.total == self.examples else f"{self.theme}-{self.number}"


def shares(themes: Sequence[str] = (), examples: int = EXAMPLES) -> list[Share]:
    """Return the searches that draw this many programs of each theme (of every theme by default).

    They depend on nothing else, so that the distribution over processes does not change programs.
    Raises WrongInput for a theme that does not exist.
    """
    check_themes(themes)
    sizes = [min(SHARE, examples - done) for done in range(0, examples, SHARE)]
    return [
        Share(theme, number, size, examples)
        for number, size in enumerate(sizes)
        for theme in (dict.fromkeys(themes) or THEMES)
    ]


def check_themes(themes: Iterable[str]) -> None:
    """Raise WrongInput for a theme that does not exist."""
    for theme in themes:
        if theme not in THEMES:
            raise WrongInput(f"there is no theme {theme!r}. There are: {', '.join(THEMES)}.")


@dataclass
class Found:
    """A divergence that a share found: its cause, its smallest program, and how often it came."""

    cause: Cause
    statements: list[str]
    index: int
    count: int = 1


@dataclass
class Report:
    """The report of a share: its outcomes, divergences, new lines and lost programs.

    `reached` are programs that reached lines which no earlier one had, with those lines;
    `lost` are the programs that ended the process, with the reason.
    """

    programs: int = 0
    outcomes: Counter[str] = field(default_factory=Counter)
    found: list[Found] = field(default_factory=list)
    reached: list[tuple[list[str], list[tuple[str, int]]]] = field(default_factory=list)
    lost: list[tuple[list[str], str]] = field(default_factory=list)
    lacking: Counter[str] = field(default_factory=Counter)

    def to_json(self) -> dict[str, Any]:
        """Return a JSON object, to send between processes."""
        return {**vars(self), "found": [{**vars(f), "cause": vars(f.cause)} for f in self.found]}

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Report:
        """Return the report that `to_json` wrote."""
        found = [Found(**{**f, "cause": Cause(**f["cause"])}) for f in data["found"]]
        reached = [(s, [(name, line) for name, line in lines]) for s, lines in data["reached"]]
        lost = [(statements, reason) for statements, reason in data["lost"]]
        counted = {name: Counter(data[name]) for name in ("outcomes", "lacking")}
        return cls(data["programs"], found=found, reached=reached, lost=lost, **counted)


class Search:
    """Draws the programs of shares and examines them, in this process."""

    def __init__(
        self,
        source: Source,
        examiner: Examiner,
        coverage: Coverage,
        seed: int = 0,
        corpus: Sequence[Sequence[str]] = (),
    ) -> None:
        self.source, self.examiner, self.coverage = source, examiner, coverage
        self.seed = seed
        self.corpus = [list(statements) for statements in corpus]

    def share(
        self,
        share: Share,
        skipped: Mapping[int, str] = EMPTY,
        progress: Progress = lambda index, phase: None,
    ) -> Report:
        """Draw and examine all programs of the share.

        ``skipped`` are those that end the process, with the phase in which they do.
        """
        report = Report()
        pool = list(self.corpus)
        found: dict[Cause, Found] = {}
        for index in range(share.examples):
            progress(index, "drawing")
            ending = skipped.get(index, "")
            statements = [] if ending.startswith("drawing") else self._drawn(share, index, pool)
            if ending:
                report.lost.append((statements, ending))
                continue
            progress(index, "oracle")
            examined = self.examiner.examine(
                named(statements, ""),
                self.coverage.watched,
                lambda at=index: progress(at, "backend"),  # type: ignore[misc]
                found,
            )
            lines = self.coverage.reached
            report.programs += 1
            report.outcomes[examined.outcome] += 1
            if examined.outcome == "unsupported":
                report.lacking[examined.reason.rpartition(" lacks ")[2]] += 1
            if lines:
                pool.append(statements)
                report.reached.append((statements, lines))
            if examined.cause is not None:
                _enter(found, examined.cause, statements, index)
        report.found = list(found.values())
        return report

    def _drawn(self, share: Share, index: int, pool: Sequence[Sequence[str]]) -> list[str]:
        if share.theme == CORPUS:
            return self.corpus[index]
        choices = Choices(f"{self.seed}/{share.theme}/{share.number}/{index}")
        with self.source.oracle.session(), quiet(), silent():
            return self.source.draw(share.theme, choices, pool)

    def shrink(self, statements: Sequence[str], cause: Cause) -> tuple[list[str], Cause]:
        """The smallest program found that diverges for the same cause, and its own cause.

        Of a divergence in a pass the operator is a guess until the program is small.
        """
        last = cause

        def still(tried: list[str]) -> bool:
            nonlocal last
            found = self.examiner.examine(named(tried, "")).cause
            if found is None or not found.resembles(cause):
                return False
            last = found
            return True

        return shrunk(statements, still), last


def _enter(found: dict[Cause, Found], cause: Cause, statements: list[str], index: int) -> None:
    """Count the divergence, and keep its program if it is the shortest of its cause."""
    earlier = found.get(cause)
    if earlier is None:
        found[cause] = Found(cause, statements, index)
        return
    earlier.count += 1
    if sum(map(len, statements)) < sum(map(len, earlier.statements)):
        earlier.statements, earlier.index = statements, index


def program_of(found: Found) -> Program:
    """The program of something found; its sentence names the cause."""
    return named(found.statements, f"a random program: {found.cause}")
