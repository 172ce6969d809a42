"""The sweep of a run: operators that pass every sample by column and dtype, and who does not."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from conformance.runs import NOT_COMPARED
from conformance.sweep.tally import COLUMNS

WORDS = {
    "forward": "Forward",
    "backward": "Backward",
    "double": "Double backward",
    "inplace": "In place",
    "out": "out=",
    "saved": "Saved",
    "errors": "Errors",
}


@dataclass(frozen=True)
class Passing:
    """How many entries pass every sample of a column in one dtype, of how many that have any."""

    passing: int
    entries: int


@dataclass
class Row:
    """One entry of the database, and its first program: by column, what is wrong in which dtype."""

    entry: str
    program: str
    columns: dict[str, list[tuple[str, str]]] = field(default_factory=dict)
    present: set[str] = field(default_factory=set)
    reason: str | None = None

    @property
    def passes(self) -> bool:
        """Whether every sample of every column and dtype was compared, and agrees."""
        return not self.columns and self.reason is None


@dataclass(frozen=True)
class SweepSummary:
    """What the report of a run says of its sweep."""

    dtypes: list[str]
    table: dict[str, dict[str, Passing]]
    rows: list[Row]

    @property
    def failing(self) -> list[Row]:
        """The entries with a sample that differs or was not compared."""
        return [row for row in self.rows if not row.passes]


def sweep_summary(lines: Iterable[dict[str, Any]]) -> SweepSummary | None:
    """The sweep in a run's lines; None where it was not swept."""
    swept = [line for line in lines if "sweep" in line]
    if not swept:
        return None
    dtypes = list(dict.fromkeys(line["dtype"] for line in swept))
    rows: dict[str, Row] = {}
    for line in swept:
        entry = line["id"].split("/", 1)[1].rsplit("/", 1)[0]
        _add(rows.setdefault(entry, Row(entry, line["id"])), line)
    table = {
        column: {dtype: _passing(swept, column, dtype) for dtype in dtypes} for column in COLUMNS
    }
    return SweepSummary(dtypes, table, list(rows.values()))


def _add(row: Row, line: dict[str, Any]) -> None:
    if line["outcome"] in NOT_COMPARED:
        row.reason = row.reason or line["reason"]
    for column, cell in line["sweep"].items():
        row.present.add(column)
        problems = [f"{n:,} of {cell['samples']:,} at {lv}" for lv, n in cell["diverging"].items()]
        if cell["lacking"]:
            problems.append(f"{cell['lacking']:,} unsupported")
        if problems:
            row.columns.setdefault(column, []).append((line["dtype"], ", ".join(problems)))


def _passing(lines: Iterable[dict[str, Any]], column: str, dtype: str) -> Passing:
    cells = [
        line["sweep"][column]
        for line in lines
        if line["dtype"] == dtype and column in line["sweep"]
    ]
    good = sum(1 for cell in cells if not cell["diverging"] and not cell["lacking"])
    return Passing(good, len(cells))
