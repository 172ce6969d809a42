"""Causes: the features of divergences by which random programs are grouped."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from conformance.base.levels import LEVELS
from conformance.compare.differences import kind
from conformance.compare.verdict import Divergence, Verdict
from conformance.program.operations import operator_of
from conformance.program.program import Program

_BUILT = ("ones_like", "tensor", "zeros", "sum", "requires_grad_", "detach", "movedim", "expand")


@dataclass(frozen=True)
class Cause:
    """The operator of the first statement that diverges, the field, and the kind of difference."""

    operator: str
    field: str
    kind: str

    def resembles(self, other: Cause) -> bool:
        """Whether the cause is the same, but for the operator that a pass goes through."""
        ways = [c.operator.partition(" of ") for c in (self, other)]
        same = ways[0][0] == ways[1][0] if ways[0][1] and ways[1][1] else ways[0] == ways[1]
        return same and (self.field, self.kind) == (other.field, other.kind)

    def __str__(self) -> str:
        return f"{self.operator}: {self.field}: {self.kind}"


def cause_of(program: Program, verdict: Verdict, levels: Sequence[str]) -> Cause | None:
    """The cause of a program's divergence at one of the levels; None where there is none."""
    first = _first(verdict, levels)
    if first is None:
        return None
    statement = program.statements[min(first.step, len(program.statements) - 1)]
    field = re.sub(r"\[[^\]]*\]", "[]", first.field)
    operator = operator_of(statement.source)
    if operator in ("backward", "grad"):
        earlier = [operator_of(s.source) for s in program.statements[: statement.index]]
        named = [name for name in earlier if name and name not in _BUILT]
        operator = f"{operator} of {named[-1]}" if named else operator
    return Cause(operator or "-", field, kind(first.expected, first.got))


def _first(verdict: Verdict, levels: Sequence[str]) -> Divergence | None:
    found = [d for level, d in verdict.divergences.items() if level in levels]
    order = {id(d): LEVELS.index(level) for level, d in verdict.divergences.items()}
    return min(found, key=lambda d: (d.step, order[id(d)]), default=None)
