"""The chapters held against the history: their comments and their notes on versions."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from conformance.base.torch_versions import order
from conformance.compare.unmet import Unmet, unmet
from conformance.execution.history import Entry, History
from conformance.history.changes import NEW, Change, by_version, changes_of_rule, is_there
from conformance.history.notes import MalformedNote, Note, notes
from conformance.output.display import pair, where
from conformance.program.program import Program
from conformance.suite.chapters import Chapter, Rule

WIDTH = 70
"""Characters shown of a value in a message."""


@dataclass(frozen=True)
class Problem:
    """Something in a chapter that the history contradicts, with its place."""

    file: str
    line: int
    message: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {self.message}"


def problems(chapter: Chapter, history: History) -> Iterator[Problem]:
    """The contradictions between a chapter and the history, rule by rule; raises RecordingError."""
    lines = chapter.path.read_text("utf-8").splitlines()
    for rule in chapter.rules:
        entries = history.entries(rule.programs)
        found = changes_of_rule(rule, entries)
        file = rule.programs[0].file or str(chapter.path)
        try:
            written = notes(rule, lines)
        except MalformedNote as error:
            yield Problem(file, error.line, f"{rule.id}: {error}")
            continue
        yield from _notes(rule, file, found, written)
        for program in rule.programs:
            if program.id in entries:
                own = [change.version for change in found if change.program is program]
                yield from _comments(
                    program, entries[program.id], max(own, key=order, default=None)
                )


def _notes(
    rule: Rule, file: str, found: Sequence[Change], written: Sequence[Note]
) -> Iterator[Problem]:
    """Changes without a note, and notes without a change; a change of texts may have a note."""
    noted = {note.version for note in written}
    grouped = by_version(found)
    stated = by_version(change for change in found if change.is_noted)
    for version, some in stated.items():
        if version not in noted:
            yield Problem(file, rule.line, f"{rule.id}: {_missing(version, some)}")
    for note in written:
        if note.version not in grouped:
            told = ", ".join(grouped) or "none"
            yield Problem(
                file,
                note.line,
                f"{rule.id}: the note says {note.kind.lower()} in {note.version}, where the "
                f"history shows no change; it changed in: {told}",
            )
        elif note.kind == "New" and not _is_new(stated.get(note.version, ())):
            yield Problem(
                file,
                note.line,
                f"{rule.id}: the note says new in {note.version}, where the program did something "
                f"else before: {_told(grouped[note.version])}",
            )


def _is_new(some: Iterable[Change]) -> bool:
    """Whether the version before lacks a name of a program, or raises where this one does not."""
    return any(
        change.kind == NEW or any(d.field == "error" for d in change.divergences.values())
        for change in some
    )


def _missing(version: str, some: Sequence[Change]) -> str:
    kind = "New" if all(change.kind == NEW for change in some) else "Changed"
    return (
        f"no note says that it changed in {version} ({_told(some)}); write: *{kind} in {version}:*"
    )


def _told(some: Sequence[Change]) -> str:
    return "; ".join(told(change) for change in some[:3]) + (" ..." if len(some) > 3 else "")


def told(change: Change) -> str:
    """A change in words: the program, the level, the place, the older and the newer value."""
    name = change.program.id
    if not change.divergences:
        return f"{name} is {change.kind}"
    level, divergence = next(iter(change.divergences.items()))
    older, newer = pair(divergence.expected, divergence.got, WIDTH)
    place = f"line {divergence.line}, {where(divergence.to_json())}"
    return f"{name} {level}: {place}: {older} became {newer}"


def _comments(program: Program, entry: Entry, last: str | None) -> Iterator[Problem]:
    """Comments that the history contradicts.

    Those about the baseline hold since the program's last change, be it one of texts only; those
    about older versions hold before the version that they name.
    """
    for shown in entry.shown:
        if shown.trace is None or not is_there(shown):
            continue
        for version in shown.versions:
            is_former = last is not None and order(version) < order(last)
            for failure in unmet(program, shown.trace, version, former=is_former):
                file, line = program.place(failure.line)
                yield Problem(file or program.id, line, _contradicted(program, version, failure))


def _contradicted(program: Program, version: str, failure: Unmet) -> str:
    return (
        f"{program.id}: torch {version} does not do what the comment says\n"
        f"    expected: {failure.expected}\n"
        f"    got:      {failure.got}"
    )


def lagging(programs: Iterable[Program], history: History) -> dict[str, list[str]]:
    """The versions of which programs have no trace, newest first, with the IDs of these.

    The history is the CPU's: programs that need an accelerator are not in it. Raises
    RecordingError.
    """
    found: dict[str, list[str]] = {version: [] for version in history.versions}
    for program in programs:
        if not program.runs_on("cpu"):
            continue
        entry = history.entry(program)
        there = set(entry.versions) if entry is not None else set()
        for version in found:
            if version not in there:
                found[version].append(program.id)
    return {version: missing for version, missing in found.items() if missing}
