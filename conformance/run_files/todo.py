"""The next operations for a port to implement, by the programs that they unlock."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from conformance.neutral.compile import NotNeutral, neutral
from conformance.neutral.operations import before, is_named, operations
from conformance.program.program import Program, ProgramError
from conformance.run_files.shown import Line

COMPARED = ("conforms", "diverges", "other_version")
"""Outcomes of programs whose operations the backend has."""

_NEEDED = 4
"""Programs that an operation counts for beside those that it unlocks, if all others need it."""

_WIDER = 2
"""How many operations more than the fewest that any program lacks a step may add."""


@dataclass(frozen=True)
class Step:
    """Operations to add together, and the programs that run then and did not before."""

    operations: tuple[str, ...]
    programs: tuple[Program, ...]

    @property
    def rules(self) -> int:
        """The number of rules of which programs are unlocked."""
        return len({program.rule for program in self.programs if program.rule})


@dataclass(frozen=True)
class Needs:
    """The operations of programs; those in `others` have no neutral form, with the reason."""

    of: Mapping[Program, frozenset[str]]
    others: Mapping[Program, str]


def needs(programs: Iterable[Program]) -> Needs:
    """The operations that each program needs."""
    of: dict[Program, frozenset[str]] = {}
    others: dict[Program, str] = {}
    for program in programs:
        try:
            of[program] = operations(neutral(program))
        except NotNeutral as reason:
            others[program] = reason.what
        except ProgramError as reason:
            others[program] = str(reason)
    return Needs(of, others)


_REASON = re.compile(r"(?:line (\d{1,9}): the backend lacks )?(.*)", re.DOTALL)
"""The line, if it is known, and the operation for which a program is unsupported."""


def had(found: Needs, lines: Iterable[Line]) -> frozenset[str]:
    """The operations that a backend has, as its run shows: those of programs that were compared,
    and those that came before the operation for which a program is unsupported."""
    programs = {program.id: program for program in found.of}
    compared: set[str] = set()
    passed: set[str] = set()
    lacking: set[str] = set()
    for line in lines:
        program = programs.get(line["id"])
        if program is not None and line["outcome"] in COMPARED:
            compared |= found.of[program]
        elif program is not None and line["outcome"] == "unsupported":
            at, name = _REASON.findall(line["reason"] or "")[0]
            passed |= before(neutral(program), name, int(at) if at else None)
            lacking |= {operation for operation in found.of[program] if is_named(operation, name)}
    return frozenset(compared | (passed - lacking))


def way(found: Needs, have: frozenset[str], done: frozenset[str] = frozenset()) -> Iterator[Step]:
    """Yield steps that lead from the operations that a backend has to all programs.

    Each adds the operations that unlock the most programs for each operation added. ``done`` are
    IDs of programs that need nothing more; others that have all operations come as the first step.
    """
    left = {p: ops - have for p, ops in found.of.items() if p.id not in done}
    ready = tuple(program for program, missing in left.items() if not missing)
    if ready:
        yield Step((), ready)
    left = {program: missing for program, missing in left.items() if missing}
    while left:
        added = _best(list(left.values()))
        unlocked = tuple(program for program, missing in left.items() if missing <= added)
        yield Step(tuple(sorted(added)), unlocked)
        left = {p: missing - added for p, missing in left.items() if not missing <= added}


def _best(missing: Sequence[frozenset[str]]) -> frozenset[str]:
    """The set of operations that unlocks the most programs for each of its operations; operations
    that many other programs need count for more.

    Candidates are the sets that programs lack, but for those much larger than the smallest.
    """
    counts = Counter(missing)
    needed = Counter(name for one in missing for name in one)
    fewest = min(map(len, counts))
    candidates = [one for one in counts if len(one) <= fewest + _WIDER]

    def worth(candidate: frozenset[str]) -> tuple[float, int]:
        unlocked = sum(n for other, n in counts.items() if other <= candidate)
        share = sum(needed[name] for name in candidate) / len(candidate) / len(missing)
        return unlocked / len(candidate) + _NEEDED * share, -len(candidate)

    return max(candidates, key=worth)
