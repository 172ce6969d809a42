"""What every reader needs of a page: contrast, room, names, headings, a focus that can be seen."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any

from report_page import all_of

CONTRAST = Path(__file__).with_name("contrast.js").read_text("utf-8")
CONTROLS = "a, button, input, select, summary, [tabindex='0']"


def unfold(page: Any) -> None:
    """Open everything that is folded."""
    page.execute_script("document.querySelectorAll('details').forEach((one) => (one.open = true))")


def contrast(page: Any) -> dict[str, Any]:
    """How many texts were looked at, folded ones too (`checked`), and which are too `faint`."""
    unfold(page)
    return page.execute_script(CONTRAST)


def width(page: Any) -> int:
    """How many pixels wide a page is, with what can only be scrolled to."""
    return page.execute_script("return document.scrollingElement.scrollWidth")


def nameless(page: Any) -> list[str]:
    """The controls that a screen reader has no name for."""
    controls = [one for one in all_of(page, CONTROLS) if not one.accessible_name.strip()]
    return [one.get_attribute("outerHTML") for one in controls]


def headings_are_in_order(page: Any) -> bool:
    """Whether there is one first heading, at the top, and none below it skips a level."""
    levels = [int(heading.tag_name[1]) for heading in all_of(page, "h1, h2, h3")]
    steps = all(after <= before + 1 for before, after in pairwise(levels))
    return levels[0] == 1 and levels.count(1) == 1 and steps


def focus_is_seen(page: Any) -> bool:
    """Whether an outline shows which element has the focus."""
    style, thickness = page.execute_script(
        "const style = getComputedStyle(document.activeElement);"
        "return [style.outlineStyle, parseFloat(style.outlineWidth)]"
    )
    return style != "none" and thickness >= 1
