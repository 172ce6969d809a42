"""The tally of an entry: the results of its samples, column by column."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from conformance.sweep.tensor_comparison import Differences

COLUMNS = ("forward", "backward", "double", "inplace", "out", "saved", "errors")


@dataclass
class Cell:
    """One column: how many samples were compared, and how many of them differ, by level.

    Those for which the backend lacks something are `lacking`, and were not compared.
    """

    samples: int = 0
    lacking: int = 0
    diverging: dict[str, int] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        """As it stands in a run file."""
        return {"samples": self.samples, "lacking": self.lacking, "diverging": self.diverging}


@dataclass
class Tally:
    """A cell for each column, and at each level the first sample that diverged."""

    cells: dict[str, Cell] = field(default_factory=dict)
    first: dict[str, dict[str, Any]] = field(default_factory=dict)
    lacks: str | None = None

    def add(self, column: str, sample: str, found: Differences) -> None:
        """Count a sample, by its ID, in a column."""
        cell = self._cell(column)
        cell.samples += 1
        for level, difference in found.items():
            cell.diverging[level] = cell.diverging.get(level, 0) + 1
            told = {"sample": sample, "column": column, **difference._asdict()}
            self.first.setdefault(level, told)

    def add_lack(self, column: str, what: str) -> None:
        """Count a sample for which the backend lacks something."""
        self._cell(column).lacking += 1
        self.lacks = self.lacks or what

    def _cell(self, column: str) -> Cell:
        return self.cells.setdefault(column, Cell())

    def to_json(self) -> dict[str, Any]:
        """As a child process answers."""
        cells = {column: self.cells[column].to_json() for column in COLUMNS if column in self.cells}
        return {"cells": cells, "first": self.first, "lacks": self.lacks}
