"""Steps from each version of torch to the next: the rules that changed, with their notes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import pairwise

from conformance.base.levels import LEVELS
from conformance.execution.history import History
from conformance.history.changes import CHANGED, NEW, REMOVED, Change, by_version, changes_of_rule
from conformance.history.notes import Note, notes
from conformance.suite.chapters import Chapter, Rule

PLACES = (*LEVELS, NEW, REMOVED)
"""The places of a rule in a step: the first level at which it changed, or new, or removed."""


@dataclass(frozen=True)
class ChangedRule:
    """A rule whose programs do something else since a version; `notes` are those on the version."""

    chapter: Chapter
    rule: Rule
    changes: tuple[Change, ...]
    notes: tuple[Note, ...]

    @property
    def place(self) -> str:
        """One of PLACES: the first level at which a program changed, or how names changed."""
        found = {place for change in self.changes for place in change.levels or (change.kind,)}
        return min(found, key=PLACES.index)

    @property
    def text(self) -> str:
        """Its notes as sentences: `New: the argument early_stop.`; empty where there are none."""
        return " ".join(dict.fromkeys(map(_sentence, self.notes)))


def _sentence(note: Note) -> str:
    """The text of a note; one on a change says so by itself."""
    if note.kind == "Changed":
        return note.text[:1].upper() + note.text[1:]
    return f"{note.kind}: {note.text}" if note.text else f"{note.kind}."


@dataclass(frozen=True)
class Step:
    """A version of torch, and the rules that changed since the version before it.

    `counts` says of how many programs of rules: at each level, and how many are new or removed.
    """

    version: str
    before: str
    release: str
    rules: list[ChangedRule] = field(default_factory=list)
    counts: Counter[str] = field(default_factory=Counter)

    def at(self, place: str) -> list[ChangedRule]:
        """The rules of one of PLACES, in the order of the chapters."""
        return [changed for changed in self.rules if changed.place == place]


def steps(chapters: Iterable[Chapter], history: History) -> list[Step]:
    """The step to each recorded version but the oldest, newest first.

    Raises RecordingError for a damaged history, MalformedNote for a note that names no version.
    """
    found = {
        version: Step(version, before, history.releases[version])
        for version, before in pairwise(history.versions)
    }
    for chapter in chapters:
        lines = chapter.path.read_text("utf-8").splitlines()
        for rule in chapter.rules:
            written, entries = notes(rule, lines), history.entries(rule.programs)
            for version, some in by_version(changes_of_rule(rule, entries)).items():
                of_version = tuple(note for note in written if note.version == version)
                step = found[version]
                step.rules.append(ChangedRule(chapter, rule, tuple(some), of_version))
                for change in some:
                    step.counts.update(change.levels if change.kind == CHANGED else (change.kind,))
    return list(found.values())
