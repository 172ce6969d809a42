"""The versions of torch on the specification's site, in a real browser."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import made_history
import made_runs
import pytest
from access import EveryPage, unfold
from chromium import chromium
from made_site import run_of
from report_page import all_of, one, texts, wait

from conformance.run_files.run import Run
from reports.specification.site import build

pytestmark = pytest.mark.browser

PAGES = ("torch.html", "torch-2.14.html", "moved.html", "kept.html", "index.html")


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A site with a history whose texts are hostile, and a run that shows another version."""
    folder = tmp_path_factory.mktemp("versions")
    chapters = made_history.chapters(folder)
    past = made_history.history(folder, chapters)
    other = made_runs.other_version("x", "moved", ["2.13"])
    over = {name: other[name] for name in ("outcome", "levels", "divergences", "got", "versions")}
    run = run_of(folder, chapters, **{"MOVE-01.1": over})
    oracle = {"name": "torch", "version": "2.15.1", "device": "cpu"}
    run = Run({**run.header, "oracle": oracle}, run.programs, run.footer)
    build(chapters, past.view("2.15"), [run], folder / "site")
    return folder / "site"


@pytest.fixture
def go(opened: Callable[..., Any], site: Path) -> Callable[..., Any]:
    """Opens a page of the site afresh and waits until it is usable."""
    return lambda page: opened(f"{site.as_uri()}/{page}", mark="site-ready")


def test_versions_lead_to_their_rules_and_back(go: Any) -> None:
    from selenium.webdriver.common.keys import Keys

    page = go("torch.html")
    assert page.execute_script("return performance.getEntriesByType('resource').length") == 0
    one(page, ".releases tbody tr:nth-child(2) a").click()
    wait(lambda: page.current_url.endswith("/torch-2.14.html"))
    assert one(page, "h1").text == "Changes in autograd in 2.14"
    assert texts(page, "h2 small")[0] == "2 rules"
    one(page, "#MOVE-01 .anchor").click()
    wait(lambda: page.current_url.endswith("/moved.html#MOVE-01"))
    strip = one(page, "#MOVE-01 .strip summary")
    assert strip.accessible_name.endswith("MOVE-01 as the newest in 2.14 to 2.15; differs in 2.13")
    strip.send_keys(Keys.ENTER)
    wait(lambda: texts(page, "#MOVE-01 .shifts li"))
    assert texts(page, "#MOVE-01 .shifts li") == ["MOVE-01.1 values, line 2, n.value: 1 became 2"]
    one(page, "#MOVE-01 .strip h3 a").click()
    wait(lambda: page.current_url.endswith("/torch-2.14.html#MOVE-01"))
    one(page, ".around [rel=next]").click()
    wait(lambda: page.current_url.endswith("/torch-2.15.html"))


def test_a_cell_says_with_a_sign_and_at_the_pointer_what_differs(go: Any) -> None:
    page = go("moved.html")
    assert texts(page, "#MOVE-03 .cell") == ["=\n2.13", "≠\n2.14", "=\n2.15"]
    assert texts(page, "#MOVE-02 .cell")[0] == "–\n2.13"
    titles = [cell.get_attribute("title") for cell in all_of(page, "#MOVE-03 .cell")]
    assert titles == [
        "2.13: as the newest",
        "2.14: MOVE-03.1 differs at values",
        "2.15: as the newest",
    ]
    grounds = "return [...arguments].map((one) => getComputedStyle(one).backgroundColor)"
    cells = all_of(page, "#MOVE-03 .cell")
    same, differs, _ = page.execute_script(grounds, *cells)
    assert same != differs
    assert texts(page, "#MOVE-01 .version-note") == ["Changed in 2.14:"]


def test_without_javascript_a_page_of_a_version_is_whole(site: Path) -> None:
    with chromium(javascript=False) as page:
        page.get((site / "torch-2.14.html").as_uri())
        one(page, ".trace-of summary").click()
        assert one(page, ".code li.marked").text == "n = 2"


def test_nothing_that_a_version_says_is_believed(go: Any) -> None:
    for name in ("kept.html", "torch-2.14.html"):
        page = go(name)
        unfold(page)
        assert page.execute_script("return window.hacked") is None
        assert "window.hacked = 1" in page.find_element("css selector", "main").text


class TestEveryPage(EveryPage):
    PAGES = PAGES
