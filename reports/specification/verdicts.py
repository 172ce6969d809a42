"""Standings of the specification's programs in the runs, and the levels a backend may claim."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from conformance.base.levels import LEVELS, NOT_COMPARED
from conformance.base.words import listed
from conformance.compare.compare import compare
from conformance.observe.trace import Trace
from conformance.program.program import Program
from conformance.run_files.categories import CATEGORIES, category
from conformance.run_files.run import Run
from reports.attention import attended
from reports.categories import WORDS
from reports.summary import described
from reports.text import count, shortened, visible

ABSENT = "absent"
"""Category of a program that is missing in a run, or has another source there."""

LONG = 400


@dataclass(frozen=True)
class Entry:
    """The standing of a program in one run, with notes beyond the verdicts.

    `levels` is empty if nothing was compared; `notes` give reasons, with hidden characters escaped.
    """

    column: Column
    category: str
    levels: dict[str, str]
    notes: tuple[str, ...] = ()

    @property
    def is_plain(self) -> bool:
        """Whether it conforms at every level, so that the page shows no details."""
        return self.category == "conforms" and set(self.levels.values()) == {"conforms"}


@dataclass(frozen=True)
class Counted:
    """The counts behind a claim to a level as text, and whether it `holds` without exception."""

    level: str
    holds: bool
    text: str


@dataclass(frozen=True, eq=False)
class Column:
    """A run as a column of the tables, with a unique name of its backend."""

    name: str
    run: Run

    @cached_property
    def lines(self) -> dict[str, dict[str, Any]]:
        """The run's programs by ID."""
        return {line["id"]: line for line in self.run.programs}

    @property
    def oracle(self) -> str:
        """The oracle of the run."""
        return described(self.run.header["oracle"], exactly=True)

    def entry(self, program: Program, trace: Trace | None) -> Entry:
        """The entry of `program`; the oracle's `trace` explains levels that are not applicable."""
        line = self.lines.get(program.id)
        if line is None:
            return Entry(self, ABSENT, {}, ("the run did not select it",))
        if line["source"] != program.paste():
            return Entry(self, ABSENT, {}, ("the run had another text of this program",))
        kind = category(line)
        if line["outcome"] in NOT_COMPARED:
            return Entry(self, kind, {}, (_shown(line["reason"]) or "no reason was given",))
        levels = {level: line["levels"].get(level, "not_applicable") for level in LEVELS}
        return Entry(self, kind, levels, (*_difference(line), *_reasons(levels, program, trace)))


def columns(runs: Iterable[Run]) -> list[Column]:
    """The runs as columns, in their order; runs of the same backend are named with their IDs."""
    runs = list(runs)
    names = [_name(run) for run in runs]
    often = Counter(names)
    return [
        Column(f"{name}, run {visible(run.header['run'])}" if often[name] > 1 else name, run)
        for name, run in zip(names, runs, strict=True)
    ]


def _name(run: Run) -> str:
    default = run.header.get("default_dtype", "float32")
    name = described(run.header["backend"])
    return name if default == "float32" else f"{name}, {visible(default)}"


def worst(entries: Iterable[Entry]) -> str:
    """The most urgent category among the entries of one column; ABSENT comes last."""
    order = (*CATEGORIES, ABSENT)
    found = {entry.category for entry in entries}
    # A rule compared in part counts as compared: its other programs are ignored.
    return min(found - {ABSENT} or found, key=order.index)


def _difference(line: dict[str, Any]) -> list[str]:
    if category(line) == "conforms" and not line["divergences"]:
        return []
    item = attended(line)
    notes = [f"{item.where}: expected {item.expected}, got {item.got}"] if item.where else []
    return [*notes, *([shortened(item.reason, LONG)] if item.reason else [])]


def _reasons(levels: dict[str, str], program: Program, trace: Trace | None) -> list[str]:
    """Why levels are not applicable: the program or the backend has nothing to compare there."""
    none = [level for level in LEVELS if levels[level] == "not_applicable"]
    if not none or trace is None:
        return []
    seen = compare(trace, trace, program).levels
    silent = [level for level in none if seen[level] == "not_applicable"]
    hidden = [level for level in none if level not in silent]
    notes = []
    if silent:
        notes.append(f"not applicable: the program shows nothing of {listed(silent)}")
    if hidden:
        notes.append(f"not applicable: the backend shows nothing of {listed(hidden)}")
    return notes


def _shown(text: str | None) -> str:
    return shortened(visible(text or ""), LONG)


def counted(
    entries: Sequence[Entry], supported: Mapping[str, Sequence[str]] | None = None
) -> list[Counted]:
    """The counts for each level, from a backend's entries for whole chapters.

    A level holds if every program was run and none diverges, known divergences included; the
    unsupported ones are counted. A level without any compared program cannot be claimed. If the
    oracle is torch, `supported` has the versions for which the run supports each level.
    """
    missing = Counter(entry.category for entry in entries if not entry.levels)
    return [_counted(level, entries, missing, supported) for level in LEVELS]


def _counted(
    level: str,
    entries: Sequence[Entry],
    missing: Counter[str],
    supported: Mapping[str, Sequence[str]] | None,
) -> Counted:
    found = Counter(entry.levels[level] for entry in entries if entry.levels)
    others = found["other_version"]
    if found["diverges"]:
        return Counted(level, False, f"diverges in {count(found['diverges'], 'program')}")
    if not found["conforms"] and not others:
        return Counted(level, False, "nothing was compared")
    text = f"conforms in {count(found['conforms'], 'program')}"
    if others:
        text += f"; {others:,} as another version of torch"
    for kind in NOT_COMPARED:
        if missing[kind]:
            text += f"; {missing[kind]:,} {WORDS[kind]}"
    if supported is not None:
        return Counted(level, bool(supported.get(level)), text)
    holds = not (others or missing["error"] or missing["not_run"])
    return Counted(level, holds, text)
