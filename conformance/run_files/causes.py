"""Causes: the divergences of a run, grouped so that a group is what one mistake explains.

A mistake of a backend shows in many programs as the same difference, at the first statement of each
that diverges. So that is the key: the level, the field, and the kind of difference, without the
values of the program. Differences that are seen in samples of only a few operators are apart, one
cause for each operator.
"""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from conformance.base.levels import LEVELS
from conformance.compare.differences import Difference, difference, earliest
from conformance.program.operations import operator_of
from conformance.run_files.totals import is_failing

Line = Mapping[str, Any]

FEW = 6
"""Operators whose samples show a difference, up to which each of them is a cause of its own."""

_SMOOTH = 8
"""Programs that are added to those of an area, so that one of two is less than ten of twenty."""

_SPECIFICATION = Difference("specification", "comment", "not what the oracle does")


@dataclass(frozen=True)
class Cause:
    """Programs that diverge in the same way; `operator` where only its programs do.

    `lines` are their lines of the run file in the suite's order; `shown` is the line of the program
    that shows the cause best.
    """

    difference: Difference
    operator: str | None
    lines: Sequence[Line]
    shown: Line

    @property
    def key(self) -> str:
        """A text that is the same in every run with this cause."""
        return self.difference.key + (f": {self.operator}" if self.operator else "")

    @property
    def words(self) -> str:
        """The cause as a clause: `cumsum: a tensor has other values`."""
        before = f"{self.operator}: " if self.operator else ""
        return before + self.difference.words

    @cached_property
    def areas(self) -> dict[str, int]:
        """The areas of its programs with their numbers, the largest first."""
        return dict(Counter(line["area"] for line in self.lines).most_common())

    @property
    def place(self) -> tuple[str, Mapping[str, Any]] | None:
        """The level and the divergence of the first statement of `shown` that diverges; None where
        only a comment is not met."""
        return earliest(self.shown["divergences"], LEVELS)

    @property
    def follows(self) -> str | None:
        """The convention that the backend follows instead, where most of the programs show one."""
        shown = Counter(_followed(line) for line in self.lines)
        best, number = shown.most_common(1)[0]
        return best if best and 2 * number >= len(self.lines) else None


def causes(lines: Iterable[Line], levels: Sequence[str] = LEVELS) -> list[Cause]:
    """The causes of the divergences among a run's lines, those of most programs first.

    Known divergences are left out, and levels other than these.
    """
    lines = list(lines)
    groups: dict[Difference, list[Line]] = {}
    for line in lines:
        if is_failing(line):
            groups.setdefault(seen(line, levels), []).append(line)
    found = [
        Cause(key, operator, members, _best(members, share))
        for share in [_Shares(lines)]
        for key, group in groups.items()
        for operator, members in _by_operator(group).items()
    ]
    order = {id(line): position for position, line in enumerate(lines)}
    return sorted(found, key=lambda cause: (-len(cause.lines), order[id(cause.lines[0])]))


def seen(line: Line, levels: Sequence[str] = LEVELS) -> Difference:
    """The difference at the first statement of a diverging program."""
    first = earliest(line["divergences"], levels) or earliest(line["divergences"], LEVELS)
    if first is None:
        return _SPECIFICATION
    level, divergence = first
    found = difference(level, divergence)
    if found.field == "value" and (read := operator_of(_statement(line, divergence))):
        return Difference(level, read, found.kind)
    return found


def _statement(line: Line, divergence: Mapping[str, Any]) -> str:
    """The source of the statement that diverges; empty where the program does not parse."""
    try:
        tree = ast.parse(line["source"])
    except (SyntaxError, ValueError, RecursionError):
        return ""
    at = divergence["line"] or 0
    for statement in tree.body:
        if statement.lineno <= at <= (statement.end_lineno or 0):
            return ast.unparse(statement)
    return ""


def _by_operator(group: Sequence[Line]) -> dict[str | None, list[Line]]:
    """The lines by operator, if samples of a few operators are among them; otherwise under None.

    Programs of rules belong to the operator that they name, or to None.
    """
    operators = {line["operator"] for line in group if line["operator"]}
    if not 0 < len(operators) <= FEW:
        return {None: list(group)}
    found: dict[str | None, list[Line]] = {}
    for line in group:
        named = [
            name for name in operators if re.search(rf"\b{re.escape(name)}_?\b", line["source"])
        ]
        operator = line["operator"] or (named[0] if len(named) == 1 else None)
        found.setdefault(operator, []).append(line)
    return found


class _Shares:
    """The parts of an area's programs, and of a rule's, that diverge in one way."""

    def __init__(self, lines: Iterable[Line]) -> None:
        lines = list(lines)
        self._areas = Counter(line["area"] for line in lines)
        self._rules = Counter(line["rule"] for line in lines)

    def of(self, group: Sequence[Line]) -> dict[int, tuple[float, float]]:
        """For each line of a group the part of its area, and of its rule, that is in the group."""
        areas = Counter(line["area"] for line in group)
        rules = Counter(line["rule"] for line in group)
        return {
            id(line): (
                areas[line["area"]] / (self._areas[line["area"]] + _SMOOTH),
                rules[line["rule"]] / self._rules[line["rule"]],
            )
            for line in group
        }


def _best(group: Sequence[Line], shares: _Shares) -> Line:
    """The line that shows the cause best: a rule's, of the area that is hit hardest, and there of
    the first rule of which the most examples diverge; then the one that diverges after the fewest
    lines."""
    share = shares.of(group)

    def rank(item: tuple[int, Line]) -> tuple[Any, ...]:
        position, line = item
        area, rule = share[id(line)]
        return line["rule"] is None, -area, -rule, position

    chosen = min(enumerate(group), key=rank)[1]
    same = [line for line in group if line["rule"] == chosen["rule"] and line["rule"]]
    return min(same, key=_length, default=min(group, key=_length) if not chosen["rule"] else chosen)


def _length(line: Line) -> int:
    """The lines of a program up to the first statement that diverges."""
    first = earliest(line["divergences"], LEVELS)
    at = first[1]["line"] if first else None
    return at or line["source"].count("\n")


def _followed(line: Line) -> str | None:
    shown = line.get("convention") or {}
    return shown["backend"] if shown and shown["oracle"] != shown["backend"] else None
