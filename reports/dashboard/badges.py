"""Badges for a README: SVG pictures with a configuration's status at one level."""

from __future__ import annotations

from dataclasses import dataclass

from conformance.base.levels import LEVELS, NOT_COMPARED
from conformance.history.claims import text
from reports.dashboard.archive import ArchivedRun
from reports.dashboard.charts import COMPARED, text_width
from reports.dashboard.overview import Current
from reports.text import visible

COLOURS = {
    "conforms": "#14703f",
    "diverges": "#b3202c",
    "known": "#6a45b0",
    "other_version": "#0b6577",
    "none": "#5b626d",
}
"""Background colours; white text on each has a contrast of at least 4.5."""

PADDING = 7


@dataclass(frozen=True)
class Badge:
    """A badge of a configuration and a level: file name, texts, and the geometry of its picture."""

    file: str
    level: str
    label: str
    message: str
    colour: str

    @property
    def title(self) -> str:
        """The badge's text for screen readers."""
        return f"{self.label}: {self.message}"

    @property
    def left(self) -> float:
        """Width of the left part."""
        return round(text_width(self.label) + 2 * PADDING, 1)

    @property
    def right(self) -> float:
        """Width of the right part."""
        return round(text_width(self.message) + 2 * PADDING, 1)


def badges(state: Current) -> list[Badge]:
    """The badges of a configuration: one for each level."""
    made = []
    for level in LEVELS:
        message, colour = _said(level, state)
        file = f"badges/{state.configuration.slug}-{level}.svg"
        made.append(Badge(file, level, visible(state.name), message, COLOURS[colour]))
    return made


def claimed(state: Current, level: str) -> list[str]:
    """The versions of torch for which every run that speaks for an area supports the level."""
    found = [
        set(run.digest.claims.get(level, ()))
        for run in state.newest
        if _has_compared(run, LEVELS.index(level))
    ]
    return list(set.intersection(*found)) if found else []


def _has_compared(run: ArchivedRun, place: int) -> bool:
    return any(standing.levels[place] in COMPARED for standing in run.digest.standings)


def _said(level: str, state: Current) -> tuple[str, str]:
    ended = state.total.levels[level]
    missing = sum(state.total.categories[kind] for kind in NOT_COMPARED)
    apart = f", {missing:,} not compared" if missing else ""
    if ended["diverges"]:
        return f"{level}: {ended['diverges']:,} diverge{apart}", "diverges"
    if ended["known"]:
        return f"{level}: {ended['known']:,} known{apart}", "known"
    if versions := claimed(state, level):
        return f"{text(level, versions)}{apart}", "none" if missing else "conforms"
    if ended["other_version"]:
        return f"{level}: {ended['other_version']:,} as another version{apart}", "other_version"
    if ended["conforms"]:
        return f"{level}: conforms{apart}", "none" if missing else "conforms"
    if ended["not_applicable"]:
        return f"{level}: not applicable{apart}", "none"
    return f"{level}: nothing compared", "none"
