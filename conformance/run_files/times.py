"""Run time by area, and the slowest programs."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

LONGEST = 10


@dataclass
class AreaTime:
    """Seconds spent on an area's programs; for the sweep the backend's include the oracle's."""

    area: str
    programs: int = 0
    oracle: float = 0.0
    backend: float = 0.0

    @property
    def total(self) -> float:
        """Seconds of oracle and backend together."""
        return self.oracle + self.backend


@dataclass(frozen=True)
class Times:
    """The times of a run: areas in descending order, and the slowest programs."""

    areas: list[AreaTime]
    longest: list[tuple[str, float]]

    @property
    def total(self) -> float:
        """Seconds of all programs, summed over processes."""
        return sum(area.total for area in self.areas)


def times(lines: Iterable[dict[str, Any]]) -> Times:
    """The time of each area, and the slowest programs."""
    areas: dict[str, AreaTime] = {}
    each: list[tuple[str, float]] = []
    for line in lines:
        oracle, backend = (line["seconds"].get(side) or 0.0 for side in ("oracle", "backend"))
        area = areas.setdefault(line["area"], AreaTime(line["area"]))
        area.programs += 1
        area.oracle += oracle
        area.backend += backend
        each.append((line["id"], oracle + backend))
    longest = sorted(each, key=lambda pair: -pair[1])[:LONGEST]
    return Times(sorted(areas.values(), key=lambda area: -area.total), longest)
