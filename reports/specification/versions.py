"""Rules through the versions of torch: a strip under each rule, and a page for each version."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from conformance.base.torch_versions import ranges
from conformance.base.words import listed
from conformance.execution.history import Entry, History
from conformance.history.changes import NEW, NOTED, Change, difference, is_there, lacks
from conformance.history.steps import ChangedRule, Step
from conformance.program.program import Program
from conformance.suite.chapters import Rule
from reports.attention import place, sides
from reports.specification.source import highlighted
from reports.text import visible

SAME, TEXTS, DIFFERS, GONE, UNKNOWN = "same", "texts", "differs", "gone", "unknown"
STATUS_WORDS = {
    SAME: "as the newest",
    TEXTS: "as the newest, but for texts",
    DIFFERS: "differs",
    GONE: "not there",
    UNKNOWN: "not recorded",
}
STATUS_SIGNS = {SAME: "=", TEXTS: "≈", DIFFERS: "≠", GONE: "–", UNKNOWN: "?"}

LONG = 300
"""Longest value shown on the page of a version."""


@dataclass(frozen=True)
class Cell:
    """A rule in one version, compared with the newest: one of the statuses, and what differs."""

    version: str
    status: str
    text: str


@dataclass(frozen=True)
class Shift:
    """A program that changed: the place, and the values before and since, in one line each."""

    program: Program
    level: str
    line: int
    where: str
    before: str
    after: str

    @property
    def source(self) -> list[Any]:
        """The lines of the program as markup, with the number of each."""
        return list(enumerate(highlighted(self.program.paste()), start=1))


@dataclass(frozen=True)
class Moment:
    """A version in which a rule changed, with the programs that show it."""

    version: str
    page: str
    shifts: tuple[Shift, ...]


@dataclass(frozen=True)
class Strip:
    """A rule through the recorded versions, oldest first, and its changes, newest first."""

    cells: tuple[Cell, ...]
    moments: tuple[Moment, ...]

    @property
    def is_constant(self) -> bool:
        """Whether the rule is the same in every version."""
        return all(cell.status == SAME for cell in self.cells)

    @property
    def since(self) -> str:
        """The oldest version from which on the rule is as in the newest, but for texts."""
        found = ""
        for cell in reversed(self.cells):
            if cell.status not in (SAME, TEXTS):
                break
            found = cell.version
        return found

    @property
    def spoken(self) -> str:
        """The cells in words: `differs in torch 2.0 to 2.13; as the newest in 2.14 to 2.15`."""
        every = [cell.version for cell in self.cells]
        parts = []
        for status, word in STATUS_WORDS.items():
            if some := [cell.version for cell in self.cells if cell.status == status]:
                parts.append(f"{word} in {ranges(some, every)}")
        return "; ".join(parts)


def page_of(version: str) -> str:
    """The file name of a version's page."""
    return f"torch-{version}.html"


def strip(rule: Rule, history: History, changed: Iterable[ChangedRule]) -> Strip:
    """The strip of a rule; `changed` are its entries in the steps. Raises RecordingError."""
    found = {
        program.id: dict(_statuses(program, entry, history.versions[0]))
        for program in rule.programs
        if (entry := history.entry(program)) is not None
    }
    cells = [
        _cell(version, {name: one[version] for name, one in found.items() if version in one})
        for version in reversed(history.versions)
    ]
    moments = (
        Moment(one.changes[0].version, page_of(one.changes[0].version), tuple(shifts(one.changes)))
        for one in changed
    )
    return Strip(tuple(cells), tuple(moments))


def _statuses(program: Program, entry: Entry, newest: str) -> Iterator[tuple[str, tuple[str, str]]]:
    """For each recorded version the status of a program, and the levels or the name that differ."""
    last = entry.of(newest)
    if last is None:
        return
    for shown in entry.shown:
        status, text = SAME, ""
        if shown is not last and shown.trace is not None and not is_there(shown):
            status, text = GONE, f"lacks {lacks(shown.trace)}"
        elif shown is not last:
            levels = list(difference(program, last, shown).divergences)
            status = DIFFERS if set(levels) & set(NOTED) else TEXTS if levels else SAME
            text = f"differs at {listed(levels)}"
        for version in shown.versions:
            yield version, (status, text)


def _cell(version: str, found: Mapping[str, tuple[str, str]]) -> Cell:
    """A rule's cell: it is not there where none of its programs is, and differs where one does."""
    statuses = {status for status, _ in found.values()}
    if not statuses:
        return Cell(version, UNKNOWN, STATUS_WORDS[UNKNOWN])
    if statuses == {GONE}:
        status = GONE
    elif statuses & {DIFFERS, GONE}:
        status = DIFFERS
    else:
        status = TEXTS if TEXTS in statuses else SAME
    told = [f"{name} {text}" for name, (of, text) in found.items() if of not in (SAME, TEXTS)]
    return Cell(version, status, visible("; ".join(told) or STATUS_WORDS[status]))


def shifts(changes: Iterable[Change], levels: Sequence[str] | None = None) -> Iterator[Shift]:
    """The changes for readers: of each its first difference at one of these levels."""
    for change in changes:
        if not change.divergences:
            text = "not there", "there"
            before, after = text if change.kind == NEW else text[::-1]
            yield Shift(change.program, change.kind, 0, "", before, after)
            continue
        for level, divergence in change.divergences.items():
            if levels is None or level in levels:
                data = divergence.to_json()
                before, after = sides(data, LONG)
                where = visible(place(level, data))
                yield Shift(change.program, level, divergence.line, where, before, after)
                break


def neighbours(steps: Sequence[Step]) -> dict[str, tuple[str | None, str | None]]:
    """For each version that has a page the one before it and the one after it that have one."""
    versions = [step.version for step in steps]
    older: list[str | None] = [*versions[1:], None]
    newer: list[str | None] = [None, *versions[:-1]]
    return dict(zip(versions, zip(older, newer, strict=True), strict=True))
