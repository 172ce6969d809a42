"""Shares: the programs of a theme that one search draws, one after the other, and their report."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from conformance.fuzz.causes import Cause
from conformance.fuzz.programs import named
from conformance.fuzz.themes import EXAMPLES, SHARE, THEMES
from conformance.program.program import Program
from conformance.run.plan import WrongInput

CORPUS = "corpus"
"""The theme of the share that replays the corpus."""


@dataclass(frozen=True)
class Share:
    """The part of a theme's programs that one search draws; its number seeds the search."""

    theme: str
    number: int
    examples: int
    total: int  # of the theme, in all its shares

    def __str__(self) -> str:
        return self.theme if self.total == self.examples else f"{self.theme}-{self.number}"


@dataclass(frozen=True)
class Turn:
    """A share and its place in the order in which a search hands shares out, from 0 on."""

    place: int
    share: Share

    def __str__(self) -> str:
        return str(self.share)


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
class Entry:
    """The result of one program of a share.

    `lines` are those that it reached and no earlier program had; `lost` says how it ended the
    process. A program of which nothing is to be said but its outcome leaves its statements out.
    """

    outcome: str
    statements: list[str] = field(default_factory=list)
    cause: Cause | None = None
    lines: list[tuple[str, int]] = field(default_factory=list)
    lacking: str = ""
    lost: str = ""

    def to_json(self) -> dict[str, Any]:
        """Return a JSON object without empty fields, to send between processes."""
        data = {name: value for name, value in vars(self).items() if value}
        return {**data, "cause": vars(self.cause)} if self.cause is not None else data

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Entry:
        """Return the entry that `to_json` wrote."""
        read = {**data, "lines": [(name, line) for name, line in data.get("lines", ())]}
        return cls(**{**read, "cause": Cause.from_json(data["cause"])} if "cause" in data else read)


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
    `lost` are the programs that ended the process, with the reason. `seconds` are those that the
    share took where it was drawn.
    """

    programs: int = 0
    seconds: float = 0.0
    outcomes: Counter[str] = field(default_factory=Counter)
    found: list[Found] = field(default_factory=list)
    reached: list[tuple[list[str], list[tuple[str, int]]]] = field(default_factory=list)
    lost: list[tuple[list[str], str]] = field(default_factory=list)
    lacking: Counter[str] = field(default_factory=Counter)

    @classmethod
    def of(cls, entries: Iterable[Entry], begun: float) -> Report:
        """The report of a share with these entries, which was begun then (`time.monotonic`)."""
        report, found = cls(), dict[Cause, Found]()
        for index, entry in enumerate(entries):
            if entry.lost:
                report.lost.append((entry.statements, entry.lost))
                continue
            report.programs += 1
            report.outcomes[entry.outcome] += 1
            if entry.lacking:
                report.lacking[entry.lacking] += 1
            if entry.lines:
                report.reached.append((entry.statements, entry.lines))
            if entry.cause is not None:
                _enter(found, entry.cause, entry.statements, index)
        report.found, report.seconds = list(found.values()), time.monotonic() - begun
        return report

    def to_json(self) -> dict[str, Any]:
        """Return a JSON object, to send between processes."""
        found = [{**vars(f), "cause": vars(f.cause)} for f in self.found]
        reached = [(statements, by_file(lines)) for statements, lines in self.reached]
        return {**vars(self), "found": found, "reached": reached}

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Report:
        """Return the report that `to_json` wrote."""
        found = [Found(**{**f, "cause": Cause.from_json(f["cause"])}) for f in data["found"]]
        reached = [(statements, places(lines)) for statements, lines in data["reached"]]
        lost = [(statements, reason) for statements, reason in data["lost"]]
        counted = (Counter(data[name]) for name in ("outcomes", "lacking"))
        return cls(data["programs"], data["seconds"], next(counted), found, reached, lost, *counted)


def _enter(found: dict[Cause, Found], cause: Cause, statements: list[str], index: int) -> None:
    """Count the divergence, and keep its program if it is the shortest of its cause."""
    earlier = found.get(cause)
    if earlier is None:
        found[cause] = Found(cause, statements, index)
        return
    earlier.count += 1
    if sum(map(len, statements)) < sum(map(len, earlier.statements)):
        earlier.statements, earlier.index = statements, index


def places(lines: Mapping[str, Sequence[int]]) -> list[tuple[str, int]]:
    """Lines by file as pairs."""
    return [(name, number) for name, numbers in lines.items() for number in numbers]


def by_file(lines: Iterable[tuple[str, int]]) -> dict[str, list[int]]:
    """Pairs of a file and a line by file, which take a fraction of the room."""
    found: dict[str, list[int]] = {}
    for name, number in lines:
        found.setdefault(name, []).append(number)
    return found


def program_of(found: Found) -> Program:
    """The program of something found; its sentence names the cause."""
    return named(found.statements, f"a random program: {found.cause}")
