"""Badges: small pictures that say of one level how a configuration stands, for a README."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from conformance.runs import LEVELS, NOT_COMPARED
from reports.dashboard.charts import text_width
from reports.dashboard.overview import Current
from reports.text import visible

COLOURS = {"conforms": "#14703f", "diverges": "#b3202c", "known": "#6a45b0", "none": "#5b626d"}
"""Grounds on which white text has a contrast of 4.5 or more."""

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
        """What the badge says to those who do not see it."""
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
