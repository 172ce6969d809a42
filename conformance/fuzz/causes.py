"""Causes: the features of divergences by which random programs are grouped."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from conformance.compare.differences import kind as difference
from conformance.compare.verdict import Verdict
from conformance.program.operations import operator_of
from conformance.program.program import Program, Statement

_PASS = re.compile(r"\bbackward\(|\bgrad\(|\b(?:jacobian|hessian|jvp|vjp|hvp|vhp|gradcheck)\(")
_FUNCTION = re.compile(r"def (\w+)\(")
_BUILT = ("ones_like", "tensor", "zeros", "sum", "requires_grad_", "detach", "movedim", "expand")

GRADIENT = "gradient of "
"""The beginning of the operator of a wrong gradient."""

VALUES = "values"


@dataclass(frozen=True)
class Cause:
    """The operator of the first statement that diverges, the field, and the kind of difference.

    The statement of a wrong gradient is that of the pass, whose operator is a guess: that of the
    last statement before it. When the program is small, `nodes` are those of its graph.
    """

    operator: str
    field: str
    kind: str
    nodes: tuple[str, ...] = ()

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Cause:
        """The cause whose attributes these are."""
        return cls(**{**data, "nodes": tuple(data["nodes"])})

    @property
    def is_gradient(self) -> bool:
        """Whether it is a gradient that differs."""
        return self.operator.startswith(GRADIENT)

    def resembles(self, other: Cause) -> bool:
        """Whether the cause is the same, but for the operator that a pass goes through."""
        same = self.operator == other.operator or (self.is_gradient and other.is_gradient)
        return same and (self.field, self.kind) == (other.field, other.kind)

    def explains(self, other: Cause) -> bool:
        """Whether programs of the other cause may well have this one.

        A node whose gradient is wrong is wrong in larger graphs, too, and may show in other fields
        there.
        """
        if self == other:
            return True
        if not (self.is_gradient and other.is_gradient and self.nodes):
            return False
        alike = (self.field, self.kind) == (other.field, other.kind) or self.field == VALUES
        return alike and set(self.nodes) <= set(other.nodes)

    def __str__(self) -> str:
        return f"{self.operator}: {self.field}: {self.kind}"


def cause_of(program: Program, verdict: Verdict, levels: Sequence[str]) -> Cause | None:
    """The cause of a program's divergence at one of the levels; None where there is none."""
    if (found := verdict.earliest(levels)) is None:
        return None
    _, first = found
    statement = program.statements[min(first.step, len(program.statements) - 1)]
    field = re.sub(r"\[[^\]]*\]", "[]", first.field)
    kind = difference(first.expected, first.got)
    operator = _operator(program, statement) or "-"
    if field.endswith("grad.values") or _differentiates(program, statement):
        earlier = (_operator(program, s) for s in program.statements[: statement.index])
        named = [name for name in earlier if name and name not in _BUILT]
        operator = f"{GRADIENT}{named[-1] if named else '-'}"
        if field.rpartition(".")[2] == VALUES:
            field, kind = VALUES, difference([], [])
    return Cause(operator, field, kind)


def _differentiates(program: Program, statement: Statement) -> bool:
    """Whether the statement makes a pass, itself or in a function of the program."""
    passes = [_PASS.pattern]
    for earlier in program.statements[: statement.index]:
        function = _FUNCTION.match(earlier.source)
        if function and re.search("|".join(passes), earlier.source):
            passes.append(rf"\b{function[1]}\b")
    return re.search("|".join(passes), statement.source) is not None


def _operator(program: Program, statement: Statement) -> str:
    """The operator of a statement; that of a call of a module is the module's class."""
    operator = operator_of(statement.source)
    if operator and re.search(rf"(?<![.\w]){operator}\(", statement.source):
        for earlier in program.statements[: statement.index]:
            if earlier.source.startswith(f"{operator} = "):
                return operator_of(earlier.source) or operator
    return operator
