"""Badges for a README: SVG pictures with a configuration's status at one level."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from conformance.base.levels import LEVELS, NOT_COMPARED
from reports.dashboard.charts import text_width
from reports.dashboard.overview import Current
from reports.text import visible

COLOURS = {"conforms": "#14703f", "diverges": "#b3202c", "known": "#6a45b0", "none": "#5b626d"}
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
        message, colour = _said(state.total.levels[level], state)
        file = f"badges/{state.configuration.slug}-{level}.svg"
        label = visible(f"{state.name} {level}")
        made.append(Badge(file, level, label, message, COLOURS[colour]))
    return made


def _said(ended: Counter[str], state: Current) -> tuple[str, str]:
    missing = sum(state.total.categories[kind] for kind in NOT_COMPARED)
    apart = f", {missing:,} not compared" if missing else ""
    if ended["diverges"]:
        return f"{ended['diverges']:,} diverge{apart}", "diverges"
    if ended["known"]:
        return f"{ended['known']:,} known{apart}", "known"
    if ended["conforms"]:
        return f"conforms{apart}", "none" if missing else "conforms"
    if ended["not_applicable"]:
        return f"not applicable{apart}", "none"
    return "nothing compared", "none"
