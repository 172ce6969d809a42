"""Differences: a divergence without the values that one program happens to have.

Divergences with one difference are grouped (`conformance.run_files.causes`, and the fuzzer's
`conformance.fuzz.causes`), since one mistake usually shows as one difference in many programs.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

from conformance.base.levels import LEVELS

_NUMBER = re.compile(r"-?\d+(?:\.\d+)?(?:e[+-]?\d+)?")
_QUOTED = re.compile(r"'[^']*'")
_KEY = re.compile(r"\[[^\]]*\]")
_LONGEST = 90
_SUBJECTS = {
    "version": "a version counter",
    "values": "a tensor",
    "value": "a value",
    "grad": "`.grad`",
    "grad.values": "a gradient",
    "grad.same": "`.grad is` the same tensor as before, or not: it",
    "error message": "the message of an error",
    "graph": "the graph below a tensor",
    "storage": "the storage of a tensor",
}
"""Fields of observations in words; others are named as they are."""


@dataclass(frozen=True)
class Difference:
    """The level and the field of a divergence, and the kind of difference there."""

    level: str
    field: str
    kind: str

    @property
    def key(self) -> str:
        """A text that is the same in every run: `memory: version: lower`."""
        return f"{self.level}: {self.field}: {self.kind}"

    @property
    def words(self) -> str:
        """The difference as a clause: `a version counter is lower`."""
        subject = _SUBJECTS.get(self.field, f"`{self.field}`")
        before, became, after = self.kind.partition(" became ")
        if self.field == "error" and became:
            if before == "None":
                return f"it raises {after}, where no error is expected"
            return f"{'no error' if after == 'None' else after}, where {before} is expected"
        if became:
            return f"{subject} is {after}, where {before} is expected"
        if self.kind in ("lower", "higher"):
            return f"{subject} is {self.kind} than expected"
        return f"{subject} has {self.kind}"


def earliest(
    divergences: Mapping[str, Mapping[str, Any]], levels: Collection[str]
) -> tuple[str, Mapping[str, Any]] | None:
    """The level and the divergence of the first statement that diverges at one of the levels.

    Where a statement diverges at several, the one that comes first in LEVELS. None without any.
    """
    found = [(level, divergences[level]) for level in LEVELS if level in divergences]
    counted = [(level, one) for level, one in found if level in levels]
    return min(counted, key=lambda item: item[1]["step"], default=None)


def difference(level: str, divergence: Mapping[str, Any]) -> Difference:
    """The difference of a divergence (`Divergence.to_json`)."""
    field = _KEY.sub("", divergence["field"]).removeprefix("result").removeprefix(".") or "value"
    sides = divergence["expected"], divergence["got"]
    if field == "storage":
        expected, got = (_whose(side, divergence["name"]) for side in sides)
        became = got if got != expected else "a third's"
        return Difference(level, field, f"{expected} became {became}")
    return Difference(level, field, kind(*sides))


def _whose(storage: object, name: str | None) -> str:
    """Whose a storage is, which an observation names after a tensor that has it."""
    own = re.escape(name or "result")
    return "its own" if re.fullmatch(rf"{own}(?:[#\[.].*)?", str(storage)) else "another's"


def kind(expected: Any, got: Any) -> str:
    """How two observations differ, without the values that this program happens to have."""
    if _is_graph(expected) and _is_graph(got):
        return _of_graphs(expected, got)
    sides = [_described(side) for side in (expected, got)]
    if sides[0] != sides[1]:
        return f"{sides[0]} became {sides[1]}"
    if isinstance(expected, str):
        return f"other text: {sides[0]}"
    if isinstance(expected, int) and isinstance(got, int):
        return "lower" if got < expected else "higher"
    return "other values"


def _is_graph(side: Any) -> bool:
    """Whether an observation is a graph: its nodes by name, with edges in brackets."""
    return isinstance(side, list) and bool(side) and all(isinstance(s, str) for s in side)


def _of_graphs(expected: list[str], got: list[str]) -> str:
    """The first node that differs in two graphs, or that only edges do."""
    names = [[node.partition("(")[0] for node in side] for side in (expected, got)]
    for one, other in itertools.zip_longest(*names, fillvalue="no node"):
        if one != other:
            return f"{one} became {other}"
    return "other edges"


def _described(side: Any) -> str:
    if isinstance(side, dict) and "type" in side:
        return f"{side['type']}: {masked(str(side.get('message', '')))}".removesuffix(": ")
    if isinstance(side, bool) or side is None:
        return str(side)
    if isinstance(side, str):
        return "tensor(...)" if side.startswith("tensor(") else masked(side)
    if isinstance(side, int | float):
        return "number"
    return type(side).__name__


def masked(text: str) -> str:
    """The first line of a text without numbers and quotations, shortened."""
    line = _QUOTED.sub("'...'", _NUMBER.sub("N", text.partition("\n")[0]))
    return line if len(line) <= _LONGEST else line[:_LONGEST] + "..."
