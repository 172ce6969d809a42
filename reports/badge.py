"""Badges for a README: SVG pictures that say what holds of a backend at one level."""

from __future__ import annotations

import re
from dataclasses import dataclass

from reports.page import template
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
    """A badge of a backend and a level: file name, texts, and the geometry of its picture."""

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


def badge(name: str, label: str, level: str, message: str, colour: str = "conforms") -> Badge:
    """A badge in the file `badges/NAME.svg` of a site, whose left part is the backend."""
    text = visible(message)
    return Badge(f"badges/{name}.svg", level, visible(label), text, COLOURS[colour])


def file_name(text: str) -> str:
    """A text as a part of a file's name; empty if nothing of it can stand there."""
    return re.sub(r"[^A-Za-z0-9._]+", "-", text).strip("-.")[:80]


def picture(shown: Badge) -> str:
    """The badge as SVG."""
    return template("badge.svg.j2").render(badge=shown)


def text_width(text: str, size: float = 11) -> float:
    """An upper estimate of the width of a text in Verdana of that size."""
    return round(sum(_width(character) for character in text) * size, 1)


def _width(character: str) -> float:
    if character in "il.,:;|!'()[]fjt ":
        return 0.42
    return 0.95 if character in "mwMW@%" else 0.66
