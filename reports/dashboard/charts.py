"""Data of the site's charts: geometry to draw, and the table behind each chart."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from conformance.base.levels import LEVELS
from reports.dashboard.archive import ArchivedRun
from reports.dashboard.overview import VersionState, ordered
from reports.text import visible

BARS = 20
"""Most bars in a chart; the table behind it has every row."""

PANEL = (280, 112)
"""Width and height of the plot of one level, in SVG units."""

COMPARED = ("conforms", "other_version", "diverges", "known")
"""The verdicts of programs that were compared at a level."""

INSET = (14, 6)
"""Margins inside the edges of a plot in SVG units, so that no dot and no label is clipped."""

TICKS = 6
"""Most labels on an axis of versions."""


@dataclass(frozen=True)
class Point:
    """One version in the plot of a level: its position and its label."""

    x: float
    y: float
    version: str
    conforms: int
    compared: int
    apart: bool
    """Whether it is of other programs than the points of the line."""

    @property
    def text(self) -> str:
        """The share of conforming programs, rounded to 100 only if it is 100."""
        return percent(self.conforms, self.compared)


@dataclass(frozen=True)
class Panel:
    """The plot of one level: its points, and the line through them."""

    level: str
    points: list[Point]
    path: str


@dataclass(frozen=True)
class Agreement:
    """Shares of conforming programs, per level and version."""

    panels: list[Panel]
    versions: list[str]
    lowest: int
    """Per cent at the lower edge of every plot; the upper edge is 100."""
    table: list[tuple[str, dict[str, Point | None]]]
    ticks: list[tuple[float, str]]
    """Places and labels on the axis, where that is the versions of torch."""


@dataclass(frozen=True)
class Bar:
    """One bar: a name, parts with their widths in per cent of the longest bar, and its text."""

    name: str
    parts: list[tuple[str, float]]
    text: str


@dataclass(frozen=True)
class Bars:
    """A bar chart and the table behind it."""

    bars: list[Bar]
    columns: list[str]
    rows: list[tuple[str, list[str]]]


def agreement(states: Iterable[VersionState], torch: Mapping[str, str]) -> Agreement:
    """The agreement of a configuration with its oracle, by version and level.

    The points of a line are of the same programs: those that all of these versions compared. A
    version that compared less than half of the newest one's programs stands apart, with its own.
    `torch` has the version of torch for each of these versions, if that is all that differs.
    """
    seen = {state.version: _compared(state) for state in states if state.runs}
    versions = [version for version, levels in seen.items() if any(levels.values())]
    shares = {
        level: _shares({version: seen[version][level] for version in versions}) for level in LEVELS
    }
    lowest = _lowest(
        100 * share.conforms / share.compared for row in shares.values() for share in row.values()
    )
    panels = []
    for level in LEVELS:
        points = [
            _point(place, len(versions), lowest, visible(version), shares[level][version])
            for place, version in enumerate(versions)
            if version in shares[level]
        ]
        joined = [point for point in points if not point.apart]
        steps = [f"{'L' if at else 'M'}{point.x} {point.y}" for at, point in enumerate(joined)]
        panels.append(Panel(level, points, "".join(steps)))
    table = [
        (
            visible(version),
            {
                panel.level: next((p for p in panel.points if p.version == visible(version)), None)
                for panel in panels
            },
        )
        for version in versions
    ]
    ticks = [
        (_across(place, len(versions)), torch[version])
        for place, version in enumerate(versions)
        if version in torch and (len(versions) - 1 - place) % _step(len(versions)) == 0
    ]
    return Agreement(panels, [visible(version) for version in versions], lowest, table, ticks)


class _Share(NamedTuple):
    """How many programs conform, of how many that were compared; `apart` if of other programs than
    those of the line."""

    conforms: int
    compared: int
    apart: bool


def _compared(state: VersionState) -> dict[str, dict[str, bool]]:
    """By level, the programs that were compared, and whether each conforms."""
    found: dict[str, dict[str, bool]] = {level: {} for level in LEVELS}
    for area, run in state.runs.items():
        part = run.digest.parts[area]
        names = run.archive.roster(part.roster).ids
        for place, level in enumerate(LEVELS):
            verdicts = [standing.levels[place] for standing in run.digest.standings]
            found[level].update(
                (name, verdicts[number] == "conforms")
                for name, number in zip(names, part.standings, strict=True)
                if verdicts[number] in COMPARED
            )
    return found


def _shares(seen: Mapping[str, Mapping[str, bool]]) -> dict[str, _Share]:
    """By version, the share of conforming programs at one level; versions are in order."""
    common: set[str] = set()
    joined: list[str] = []
    newest = 0
    for version in reversed(list(seen)):
        names = seen[version].keys()
        if not names:
            continue
        shared = common & names if joined else set(names)
        newest = newest or len(names)
        if 2 * len(shared) >= newest:
            common = shared
            joined.append(version)
    found = {}
    for version, conforms in seen.items():
        if version in joined:
            found[version] = _Share(sum(conforms[name] for name in common), len(common), False)
        elif conforms:
            found[version] = _Share(sum(conforms.values()), len(conforms), True)
    return found


def _step(count: int) -> int:
    """The distance of the labelled places among so many, such that there are at most TICKS."""
    return max(1, math.ceil((count - 1) / (TICKS - 1)))


def _across(place: int, count: int) -> float:
    """The horizontal position of a version in a plot."""
    width = PANEL[0] - 2 * INSET[0]
    return round(INSET[0] + (place / (count - 1) if count > 1 else 0.5) * width, 1)


def _point(place: int, count: int, lowest: int, version: str, share: _Share) -> Point:
    height = PANEL[1] - 2 * INSET[1]
    up = (100 * share.conforms / share.compared - lowest) / (100 - lowest)
    return Point(
        x=_across(place, count),
        y=round(INSET[1] + (1 - up) * height, 1),
        version=version,
        conforms=share.conforms,
        compared=share.compared,
        apart=share.apart,
    )


def _lowest(shares: Iterable[float]) -> int:
    """A round lower edge below every share."""
    least = min(shares, default=100.0)
    return next(edge for edge in (99, 98, 95, 90, 80, 50, 0) if least >= edge)


def percent(part: int, whole: int) -> str:
    """A share in per cent; rounding never gives 100 for less than all, nor 0 for more than none."""
    if part in (0, whole):
        return "100 %" if part else "0 %"
    share = 100 * part / whole
    for digits in (1, 2, 3):
        text = f"{share:.{digits}f}"
        if float(text) not in (0.0, 100.0):
            return f"{text} %"
    return "> 99.999 %" if share > 50 else "< 0.001 %"


def errors(runs: Iterable[ArchivedRun]) -> Bars | None:
    """The largest ULP error of each operator among conforming values, on a logarithmic scale."""
    largest: dict[str, dict[str, float]] = {}
    for run in runs:
        for operator, row in run.digest.ulps.items():
            of_operator = largest.setdefault(operator, {})
            for dtype, error in row.items():
                value = math.inf if error is None else error
                of_operator[dtype] = max(of_operator.get(dtype, 0.0), value)
    worst = sorted(
        ((max(row.values()), name) for name, row in largest.items() if row),
        key=lambda pair: (-pair[0], pair[1]),
    )
    worst = [(error, name) for error, name in worst if error > 0]
    if not worst:
        return None
    top = max((math.log10(1 + error) for error, _ in worst if math.isfinite(error)), default=1.0)
    bars = []
    for error, name in worst[:BARS]:
        width = 100.0 if math.isinf(error) else round(100 * math.log10(1 + error) / top, 2)
        dtype = max(largest[name], key=lambda one: (largest[name][one], one))
        bars.append(Bar(visible(name), [("ulp", width)], f"{ulps(error)} ({visible(dtype)})"))
    dtypes = sorted({dtype for row in largest.values() for dtype in row})
    rows = [
        (visible(name), [ulps(largest[name][d]) if d in largest[name] else "" for d in dtypes])
        for _, name in worst
    ]
    return Bars(bars, [visible(dtype) for dtype in dtypes], rows)


def ulps(error: float) -> str:
    """An error in ULP as text: `0.5`, `1,024`, `∞`."""
    if math.isinf(error):
        return "∞"
    return f"{error:,.0f}" if error >= 1000 else f"{error:.3g}"


def seconds(runs: dict[str, ArchivedRun]) -> Bars | None:
    """The time of each area, oracle and backend, in the run selected for that area."""
    sides = {
        area: (runs[area].digest.parts[area].oracle, runs[area].digest.parts[area].backend)
        for area in ordered(runs)
    }
    longest = max((sum(pair) for pair in sides.values()), default=0.0)
    if not longest:
        return None
    by_time = sorted(sides, key=lambda area: -sum(sides[area]))
    bars = [
        Bar(
            visible(area),
            [
                (side, round(100 * value / longest, 2))
                for side, value in zip(("oracle", "backend"), sides[area], strict=True)
            ],
            f"{sum(sides[area]):.1f} s",
        )
        for area in by_time
    ]
    rows = [(visible(area), [f"{value:.1f}" for value in sides[area]]) for area in by_time]
    return Bars(bars, ["Oracle (s)", "Backend (s)"], rows)
