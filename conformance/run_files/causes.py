"""Causes: the divergences of a run in groups, each of which one mistake may explain.

A mistake of a backend shows in many programs as the same difference, at the first statement of each
that diverges. So that is the key: the level, the field, and the kind of difference, without the
values of the program. Differences that are seen in samples of only a few operators are apart, one
cause for each operator.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from conformance.base.levels import LEVELS
from conformance.compare.differences import Difference, difference
from conformance.program.operations import operator_of, statement_at
from conformance.run_files.shown import SHORT, Line, best, first_divergence, length
from conformance.run_files.totals import is_failing

FEW = 6
"""Operators whose samples show a difference, up to which each of them is a cause of its own."""

MANY = 100
"""Programs with one error, from which on state that an earlier program left may be its reason."""

_READ = {
    "_version": "version",
    "_is_view": "is_view",
    "stride": "strides",
    "storage_offset": "offset",
}
"""Attributes that a statement reads, and the fields in which they are observed."""

_SPECIFICATION = Difference("specification", "comment", "not what the oracle does")


@dataclass(frozen=True)
class Cause:
    """Programs that diverge in the same way; `operator` where only its programs do.

    `lines` are their lines of the run file in the suite's order; `shown` is the line of the program
    that shows the cause best, and `place` its first divergence (`first_divergence`).
    """

    difference: Difference
    operator: str | None
    lines: Sequence[Line]
    shown: Line
    place: tuple[str, Mapping[str, Any]] | None

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
    def follows(self) -> str | None:
        """The convention that the backend follows instead, where most of the programs show one."""
        shown = Counter(_followed(line) for line in self.lines)
        best, number = shown.most_common(1)[0]
        return best if best and 2 * number >= len(self.lines) else None


def causes(lines: Iterable[Line], levels: Sequence[str] = LEVELS) -> list[Cause]:
    """The causes of the divergences among a run's lines, those first whose programs contradict most
    comments; a sample, which has none, counts like a program that does.

    Of as many those of most programs come first, and then those whose program contradicts its
    comments, and is short. Known divergences are left out, and levels other than these.
    """
    lines = list(lines)
    groups: dict[Difference, list[Line]] = {}
    for line in lines:
        if is_failing(line):
            groups.setdefault(seen(line, levels), []).append(line)
    examples = Counter(line["rule"] for line in lines)
    failing = Counter(line["rule"] for group in groups.values() for line in group)
    diverging = {rule: number / examples[rule] for rule, number in failing.items()}
    found = []
    for key, group in groups.items():
        for operator, members in _by_operator(group).items():
            shown = members[0]
            if not _is_left_behind(key, members, lines):
                shown = best(members, diverging, levels)
            place = first_divergence(shown, levels)
            found.append(Cause(key, operator, members, shown, place))
    position = {id(line): number for number, line in enumerate(lines)}
    found.sort(
        key=lambda cause: (
            order_of(len(cause.lines), sum(map(speaks, cause.lines))),
            not cause.shown.get("contradicted"),
            length(cause.shown, levels) > SHORT,
            position[id(cause.lines[0])],
        )
    )
    return found


def order_of(programs: int, speaking: int) -> tuple[int, int]:
    """The key by which causes are sorted: the first has most programs that speak (`speaks`), and of
    as many most programs."""
    return -speaking, -programs


def speaks(line: Line) -> bool:
    """Whether a program contradicts a comment, or is a sample, which has none."""
    return line["rule"] is None or bool(line.get("contradicted", True))


def _is_left_behind(difference: Difference, group: Sequence[Line], lines: Sequence[Line]) -> bool:
    """Whether an error comes from state that the backend does not reset: most programs after the
    first that raises it raise it, too. Then the first is nearest to the mistake."""
    if len(group) < MANY or not difference.key.startswith("values: error: None became "):
        return False
    begin = next(position for position, line in enumerate(lines) if line is group[0])
    return 2 * len(group) > len(lines) - begin


_PLACE = re.compile(r"\bline \d+: (?:the backend lacks )?")


def reasons(lines: Iterable[Line], outcome: str) -> list[tuple[str, list[Line]]]:
    """The reasons for which programs ended with an outcome (`unsupported`, `error`, `not_run`),
    each with their lines, those of most programs first; the number of a line is no part of one."""
    groups: dict[str, list[Line]] = {}
    for line in lines:
        if line["outcome"] == outcome:
            reason = _PLACE.sub("", line["reason"] or "no reason given")
            groups.setdefault(reason, []).append(line)
    return sorted(groups.items(), key=lambda item: -len(item[1]))


def seen(line: Line, levels: Sequence[str] = LEVELS) -> Difference:
    """The difference at the first statement of a diverging program.

    A gradient that `autograd.grad` returns is the same field as one in `.grad`.
    """
    first = first_divergence(line, levels)
    if first is None:
        return _SPECIFICATION
    level, divergence = first
    found = difference(level, divergence)
    if found.field == "value" and (called := _called(line, divergence)):
        return Difference(level, _READ.get(called, called), found.kind)
    returns_gradient = found.field in ("values", "gradient") and "grad(" in line["source"]
    if returns_gradient and _called(line, divergence) == "grad":
        return Difference(level, "grad.values", found.kind)
    return found


def _called(line: Line, divergence: Mapping[str, Any]) -> str:
    """The operation of the statement at which a program diverges; empty without one."""
    if not divergence["line"]:
        return ""
    return operator_of("\n".join(statement_at(line["source"].split("\n"), divergence["line"])))


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


def _followed(line: Line) -> str | None:
    shown = line.get("convention") or {}
    return shown["backend"] if shown and shown["oracle"] != shown["backend"] else None
