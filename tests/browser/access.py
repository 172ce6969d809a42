"""Accessibility checks on a page: contrast, width, names, headings, visible focus."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any

from report_page import all_of

CONTRAST = Path(__file__).with_name("contrast.js").read_text("utf-8")
CONTROLS = "a, button, input, select, summary, [tabindex='0']"


def unfold(page: Any) -> None:
    """Unfold every folded element."""
    page.execute_script("document.querySelectorAll('details').forEach((one) => (one.open = true))")


def contrast(page: Any) -> dict[str, Any]:
    """The number of texts checked, folded ones included (`checked`), and the `faint` ones."""
    unfold(page)
    return page.execute_script(CONTRAST)


def width(page: Any) -> int:
    """The width of a page in pixels, including the part reachable by scrolling."""
    return page.execute_script("return document.scrollingElement.scrollWidth")


def nameless(page: Any) -> list[str]:
    """The controls without an accessible name."""
    controls = [one for one in all_of(page, CONTROLS) if not one.accessible_name.strip()]
    return [one.get_attribute("outerHTML") for one in controls]


def headings_are_in_order(page: Any) -> bool:
    """Whether there is one first-level heading, at the top, and no heading skips a level."""
    levels = [int(heading.tag_name[1]) for heading in all_of(page, "h1, h2, h3")]
    steps = all(after <= before + 1 for before, after in pairwise(levels))
    return levels[0] == 1 and levels.count(1) == 1 and steps


def focus_is_seen(page: Any) -> bool:
    """Whether an outline marks the focused element."""
    style, thickness = page.execute_script(
        "const style = getComputedStyle(document.activeElement);"
        "return [style.outlineStyle, parseFloat(style.outlineWidth)]"
    )
    return style != "none" and thickness >= 1
