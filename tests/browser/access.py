"""Accessibility checks on a page: contrast, width, names, headings, visible focus."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from chromium import prefer, resize
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


class EveryPage:
    """The checks of every page of a site: a test class derives from it, and lists its PAGES.

    Its module has the fixture `go`, which opens a page by its name.
    """

    PAGES: tuple[str, ...]

    def pytest_generate_tests(self, metafunc: pytest.Metafunc) -> None:
        metafunc.parametrize("name", self.PAGES)

    @pytest.mark.parametrize("scheme", ["light", "dark"])
    def test_every_text_has_contrast_enough(
        self, name: str, scheme: str, browser: Any, go: Any
    ) -> None:
        prefer(browser, scheme)
        found = contrast(go(name))
        assert found["checked"] > 10
        assert found["faint"] == []

    def test_a_narrow_window_needs_no_sideways_scrolling(
        self, name: str, browser: Any, go: Any
    ) -> None:
        resize(browser, 360, 800)
        page = go(name)
        unfold(page)
        assert width(page) <= 360

    def test_controls_have_names_and_headings_their_order(self, name: str, go: Any) -> None:
        page = go(name)
        assert nameless(page) == []
        assert headings_are_in_order(page)
