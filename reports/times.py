"""Where a run's time went: by area, and the programs that took longest."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

LONGEST = 10


@dataclass
class AreaTime:
    """Seconds that an area's programs took; the sweep's backend time includes its oracle's."""

    area: str
    programs: int = 0
    oracle: float = 0.0
    backend: float = 0.0

    @property
    def total(self) -> float:
        """Seconds on both sides."""
        return self.oracle + self.backend


@dataclass(frozen=True)
class Times:
    """The time of a run: areas with the longest first, and the longest programs."""

    areas: list[AreaTime]
    longest: list[tuple[str, float]]

    @property
    def total(self) -> float:
        """Seconds of all programs, in however many processes."""
        return sum(area.total for area in self.areas)


def times(lines: Iterable[dict[str, Any]]) -> Times:
    """The time that each area took, and the programs that took longest."""
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
