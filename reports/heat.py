"""Heat maps of a run: areas by levels, and the operators that diverge by dtypes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from conformance.base.levels import LEVELS
from conformance.run_files.categories import category
from reports.summary import AreaRow

STEPS = (0.02, 0.1, 0.4)
"""Shares of diverging programs at which a cell becomes a step darker."""

MOST = 40
"""Operators in the map of operators; those with most divergences."""


@dataclass(frozen=True)
class Cell:
    """A cell: `kind` is a category, or empty where nothing was compared.

    `step` is 1 to 4, by the share of diverging programs; 0 where none diverges.
    """

    column: str
    kind: str
    step: int
    diverging: int
    compared: int


@dataclass(frozen=True)
class Line:
    """A line of a map: an area or an operator, with one cell for each column."""

    name: str
    cells: list[Cell]


@dataclass(frozen=True)
class Operators:
    """The map of operators; `more` diverging ones are left out."""

    dtypes: list[str]
    lines: list[Line]
    more: int


def areas(rows: Iterable[AreaRow]) -> list[Line]:
    """By area, one cell for each level."""
    return [Line(row.area, [_cell(level, row.levels[level]) for level in LEVELS]) for row in rows]


def operators(lines: Sequence[dict[str, Any]]) -> Operators:
    """The operators that diverge, those of most divergences first, by dtype."""
    tallies: dict[str, dict[str, Counter[str]]] = {}
    worst: Counter[str] = Counter()
    for line in lines:
        if (operator := line["operator"]) and (dtype := line["dtype"]):
            ended = category(line)
            tallies.setdefault(operator, {}).setdefault(dtype, Counter())[ended] += 1
            worst[operator] += ended == "diverges"
    found = [name for name, number in worst.most_common() if number]
    shown = found[:MOST]
    dtypes = sorted({dtype for name in shown for dtype in tallies[name]})
    cells = {
        name: [_cell(dtype, tallies[name].get(dtype, Counter())) for dtype in dtypes]
        for name in shown
    }
    return Operators(dtypes, [Line(name, cells[name]) for name in shown], len(found) - len(shown))


def _cell(column: str, tally: Counter[str]) -> Cell:
    compared = sum(tally[kind] for kind in ("diverges", "known", "other_version", "conforms"))
    kinds = ("diverges", "known", "other_version", "conforms", "not_applicable")
    kind = next((kind for kind in kinds if tally[kind]), "")
    share = tally["diverges"] / compared if compared else 0.0
    step = 1 + sum(share >= limit for limit in STEPS) if tally["diverges"] else 0
    return Cell(column, kind, step, tally["diverges"], compared)
