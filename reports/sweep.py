"""Summary of a run's sweep: entries passing every sample, by column and dtype, and the others."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from conformance.base.levels import NOT_COMPARED
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
    """A cell: how many entries pass every sample, and how many entries have any sample."""

    passing: int
    entries: int


@dataclass
class Row:
    """An entry of torch's operator database: by column, the dtypes that fail and the reasons.

    `program` is its first program.
    """

    entry: str
    program: str
    columns: dict[str, list[tuple[str, str]]] = field(default_factory=dict)
    present: set[str] = field(default_factory=set)
    reason: str | None = None

    @property
    def passes(self) -> bool:
        """Whether every sample of every column and dtype was compared and conforms."""
        return not self.columns and self.reason is None


@dataclass(frozen=True)
class SweepSummary:
    """The data of the sweep's section in the report of a run."""

    dtypes: list[str]
    table: dict[str, dict[str, Passing]]
    rows: list[Row]

    @property
    def failing(self) -> list[Row]:
        """The entries with a sample that diverges or was not compared."""
        return [row for row in self.rows if not row.passes]


def sweep_summary(lines: Iterable[dict[str, Any]]) -> SweepSummary | None:
    """The summary of the sweep lines among a run's lines; None without any."""
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
