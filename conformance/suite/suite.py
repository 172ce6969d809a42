"""The suite: all programs, in suite order, and selections of them."""

from __future__ import annotations

import fnmatch
import json
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from importlib import resources
from pathlib import Path

from conformance import samples, signatures
from conformance.base.classes import CLASSES, CORE
from conformance.base.kept import kept
from conformance.base.levels import LEVELS
from conformance.program.classes import classes_of
from conformance.program.program import Program, ProgramError
from conformance.suite import conventions, docstrings, laws
from conformance.suite.areas import AREAS
from conformance.suite.chapters import Chapter, read_spec
from conformance.suite.listed import Listed, Written, written
from conformance.suite.shard import Shard
from conformance.suite.sources import sources
from conformance.suite.whole_programs import read_whole_programs, whole_programs_directory
from conformance.sweep import entries as sweep

Head = Program | Written
"""A program, or the part of it by which it is selected."""


class SuiteError(Exception):
    """The suite cannot be put together: two programs share an ID, or a finding is unreadable."""


class SelectionError(Exception):
    """A selection names something that does not exist, or selects nothing."""


@dataclass(frozen=True)
class Selection:
    """The selection criteria: alternatives within one field, all fields at once; empty is all.

    ``classes`` takes programs that need no others but the core; ``without`` leaves areas out;
    ``failed_in`` names a run file, and leaves only its failures; ``sample`` draws so many of the
    rest, and ``shard`` takes a part of those. ``levels`` selects no programs: it says which levels
    count for pass or fail.
    """

    areas: tuple[str, ...] = ()
    rules: tuple[str, ...] = ()
    operators: tuple[str, ...] = ()
    dtypes: tuple[str, ...] = ()
    classes: tuple[str, ...] = ()
    ids: tuple[str, ...] = ()
    without: tuple[str, ...] = ()
    failed_in: str | None = None
    sample: int | None = None
    shard: Shard | None = None
    levels: tuple[str, ...] = LEVELS

    def to_json(self) -> dict[str, list[str]]:
        """The `selection` of a run file's header."""
        return {
            "areas": list(self.areas),
            "rules": list(self.rules),
            "operators": list(self.operators),
            "dtypes": list(self.dtypes),
            "classes": list(self.classes),
            "ids": list(self.ids),
            "without": list(self.without),
            "failed_in": [self.failed_in] if self.failed_in else [],
            "sample": [str(self.sample)] if self.sample else [],
            "shard": [str(self.shard)] if self.shard else [],
            "levels": list(self.levels),
        }


@dataclass(frozen=True)
class Suite:
    """All programs, in suite order, and the chapters that some of them come from."""

    programs: Listed
    chapters: tuple[Chapter, ...] = ()
    _by_id: dict[str, int] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        by_id: dict[str, int] = {}
        for place, head in enumerate(self.programs.heads):
            if (before := by_id.setdefault(head.id, place)) != place:
                raise SuiteError(
                    f"two programs have the ID {head.id}: {_place(self.programs[before])} and "
                    f"{_place(self.programs[place])}. IDs are unique and never reused."
                )
        object.__setattr__(self, "_by_id", by_id)

    def __getitem__(self, identifier: str) -> Program:
        """The program of that ID; raises SelectionError, with the closest IDs, if there is none."""
        if (found := self.get(identifier)) is None:
            raise SelectionError(_missing("program", identifier, self._by_id))
        return found

    def get(self, identifier: str) -> Program | None:
        """The program of that ID, or None."""
        place = self._by_id.get(identifier)
        return None if place is None else self.programs[place]

    def ids(self) -> list[str]:
        """Every program's ID, in suite order."""
        return list(self._by_id)

    def programs_of_rule(self) -> dict[str, list[str]]:
        """The IDs of each rule's programs."""
        rules: dict[str, list[str]] = {}
        for head in self.programs.heads:
            if head.rule is not None:
                rules.setdefault(head.rule, []).append(head.id)
        return rules

    def prose(self, identifier: str | None) -> str:
        """The prose of the rule of that ID, in Markdown; empty where no chapter has the rule."""
        rules = (rule for chapter in self.chapters for rule in chapter.rules)
        return next((rule.prose for rule in rules if rule.id == identifier), "")

    def select(self, selection: Selection) -> list[Program]:
        """Return the selected programs, in suite order, of all shards and outcomes.

        Raises SelectionError for an area, rule, operator, dtype, level or ID that does not exist
        and for a selection that nothing meets.
        """
        self.check(selection)
        wanted: list[Callable[[Head], bool]] = []
        if selection.areas:
            wanted.append(lambda head: head.area in selection.areas)
        if selection.without:
            wanted.append(lambda head: head.area not in selection.without)
        if selection.rules:
            wanted.append(lambda head: head.rule in selection.rules)
        if selection.operators:
            wanted.append(lambda head: head.operator in selection.operators)
        if selection.dtypes:
            wanted.append(lambda head: head.dtype in selection.dtypes)
        if selection.ids:
            wanted.append(lambda head: _matches(head.id, selection.ids))
        left = list(enumerate(self.programs.heads))
        for meets in wanted:
            left = [(place, head) for place, head in left if meets(head)]
        chosen = [self.programs[place] for place, _ in left]
        if selection.classes:
            allowed = {CORE, *selection.classes}
            chosen = [program for program in chosen if allowed.issuperset(classes_of(program))]
        if not chosen:
            raise SelectionError(
                "the selection is empty: no program meets all of "
                + ", ".join(_options(selection))
                + ". Options of one kind are alternatives, those of different kinds must all hold."
                if wanted or selection.classes
                else "the suite has no programs."
            )
        return chosen

    def check(self, selection: Selection) -> None:
        """Raise SelectionError for an area, rule, operator, dtype, level or ID that is unknown."""
        _check_names("level", selection.levels, LEVELS)
        heads = self.programs.heads
        areas = list(dict.fromkeys([*AREAS, *_values(heads, "area")]))
        _check_names("area", (*selection.areas, *selection.without), areas)
        for kind, names in (
            ("rule", selection.rules),
            ("operator", selection.operators),
            ("dtype", selection.dtypes),
        ):
            if names:
                _check_names(kind, names, _values(heads, kind))
        _check_names("class", selection.classes, tuple(CLASSES))
        for pattern in selection.ids:
            if not any(_matches(identifier, [pattern]) for identifier in self._by_id):
                raise SelectionError(_missing("program", pattern, self._by_id))


def read_suite(spec: str | Path | None = None, found: str | Path | None = None) -> Suite:
    """The whole suite: chapters (those in ``spec``, if given), whole programs, operator
    samples, conventions, laws, the sweep, docstrings, fuzz findings.

    The findings in the folder ``found``, if given, come after the suite's own. Raises ChapterError
    for a malformed chapter, WholeProgramError for a malformed whole program,
    SuiteError for a duplicate ID or a broken finding.
    """
    chapters = read_spec(spec)
    programs: list[Head] = [
        program for chapter in chapters for rule in chapter.rules for program in rule.programs
    ]
    # The ID is the content's hash: a finding in both folders is one program.
    replayed = {finding.id: finding for finding in findings()}
    if found is not None:
        replayed |= {finding.id: finding for finding in findings(found)}
    made_from = [*sources(), whole_programs_directory()]
    programs += kept("programs", list[Written], made_from, _written_programs)
    programs += replayed.values()
    return Suite(Listed(programs), tuple(chapters))


def _written_programs() -> list[Written]:
    """All programs that come neither from chapters nor from findings."""
    return list(map(written, _other_programs()))


def _other_programs() -> list[Program]:
    """Whole programs, samples, signatures, conventions, laws, the sweep and docstrings."""
    return [
        *read_whole_programs(),
        *samples.programs(),
        *signatures.programs(),
        *conventions.programs(),
        *laws.programs(),
        *sweep.programs(),
        *docstrings.programs(),
    ]


def select(programs: Iterable[Program], selection: Selection) -> list[Program]:
    """Those of ``programs`` that meet the selection; raises SelectionError as `Suite.select`."""
    return Suite(Listed(programs)).select(selection)


def findings(folder: str | Path | None = None) -> list[Program]:
    """The programs that fuzzing found and that are replayed since, one JSON file each, by name.

    Raises SuiteError, naming the file, for one that cannot be read, and for a folder that is not
    there.
    """
    place = resources.files("conformance").joinpath("findings")
    found = Path(str(place)) if folder is None else Path(folder)
    if folder is not None and not found.is_dir():
        raise SuiteError(f"{found}: there is no such folder of fuzz findings.")
    programs = []
    for path in sorted(found.glob("*.json")):
        try:
            programs.append(Program.from_json(json.loads(path.read_text("utf-8"))))
        except (OSError, ValueError, KeyError, TypeError, ProgramError) as error:
            raise SuiteError(f"{path}: not a fuzz finding: {error}.") from None
    return programs


def _matches(identifier: str, patterns: Collection[str]) -> bool:
    return any(fnmatch.fnmatchcase(identifier, pattern) for pattern in patterns)


def _values(heads: Iterable[Head], name: str) -> list[str]:
    values = (getattr(head, name) for head in heads)
    return list(dict.fromkeys(value for value in values if value is not None))


def _check_names(kind: str, names: Sequence[str], existing: Sequence[str]) -> None:
    for name in names:
        if name not in existing:
            raise SelectionError(_missing(kind, name, existing))


def _missing(kind: str, name: str, existing: Collection[str]) -> str:
    message = f"there is no {kind} {name!r}."
    close = get_close_matches(name, existing, n=3, cutoff=0.6)
    if not close:
        close = get_close_matches(name.upper(), existing, n=3, cutoff=0.6)
    if close:
        message += f" Did you mean {' or '.join(close)}?"
    if 0 < len(existing) <= 40:
        message += f" There are: {', '.join(existing)}."
    elif existing:
        message += " `conform list` shows all."
    return message


def _options(selection: Selection) -> list[str]:
    kinds = {
        "--area": selection.areas,
        "--without": selection.without,
        "--rule": selection.rules,
        "--operator": selection.operators,
        "--dtype": selection.dtypes,
        "--class": selection.classes,
        "--id": selection.ids,
    }
    return [f"{option} {value}" for option, values in kinds.items() for value in values]


def _place(program: Program) -> str:
    if program.file is None:
        return "a program without a file"
    return f"{program.file}, line {program.line}"
