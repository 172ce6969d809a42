"""Verdicts: the results of comparing two traces, as they stand in a run file."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field
from typing import Any

from conformance.base.levels import LEVELS
from conformance.compare.differences import earliest
from conformance.compare.unmet import Unmet


@dataclass(frozen=True)
class Divergence:
    """The first place at which two traces differ at one level.

    `line` counts within `Program.paste()`; `name` is None for an expression's value, an error or
    a warning; `index` is the flat index of the first element that differs, where there is one.
    """

    step: int
    line: int
    name: str | None
    field: str
    expected: Any
    got: Any
    index: int | None = None

    def to_json(self) -> dict[str, Any]:
        """Return the form that stands in a run file."""
        data = {
            "step": self.step,
            "line": self.line,
            "name": self.name,
            "field": self.field,
            "expected": self.expected,
            "got": self.got,
        }
        return data if self.index is None else {**data, "index": self.index}


@dataclass
class Verdict:
    """The verdict on one program; `outcome` is conforms, diverges, unsupported, error or not_run.

    `levels` says of every level conforms, diverges or not_applicable; `ulp` holds the largest
    error per dtype in units in the last place; `specification` the comments that the oracle
    itself does not meet; `permitted` the differences that the specification lets a port have, at
    which the comparison of their level ended.
    """

    outcome: str
    levels: dict[str, str] = field(default_factory=dict)
    divergences: dict[str, Divergence] = field(default_factory=dict)
    ulp: dict[str, float] = field(default_factory=dict)
    reason: str | None = None
    specification: list[Unmet] = field(default_factory=list)
    permitted: dict[str, Divergence] = field(default_factory=dict)

    def earliest(self, levels: Collection[str] = LEVELS) -> tuple[str, Divergence] | None:
        """The level and the divergence of the first statement that diverges at one of the levels;
        None where none does."""
        found = earliest({level: vars(one) for level, one in self.divergences.items()}, levels)
        return None if found is None else (found[0], self.divergences[found[0]])

    @classmethod
    def without_comparison(cls, outcome: str, reason: str) -> Verdict:
        """Return the verdict on a program that could not be compared: error or not_run."""
        return cls(outcome, dict.fromkeys(LEVELS, "not_applicable"), reason=reason)

    def to_json(self) -> dict[str, Any]:
        """Return a JSON object; `reason` and `permitted` only where there is something to say."""
        data: dict[str, Any] = {
            "outcome": self.outcome,
            "levels": self.levels,
            "divergences": {level: d.to_json() for level, d in self.divergences.items()},
            "specification": [failure.to_json() for failure in self.specification],
            "ulp": self.ulp,
        }
        if self.permitted:
            data["permitted"] = {level: d.to_json() for level, d in self.permitted.items()}
        return data if self.reason is None else {**data, "reason": self.reason}
