"""The specification's site in a real browser, opened from disk."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import made_observations
import made_runs
import pytest
from access import EveryPage, unfold
from chromium import chromium
from command import SPEC
from report_page import address, all_of, one, texts, wait

from conformance.execution.recordings import Recording, record
from conformance.observe.trace import Step, Trace
from conformance.run_files.reading import read_run
from conformance.suite.chapters import read_spec
from conformance.suite.texts import read_texts
from reports.specification.site import build

pytestmark = pytest.mark.browser

MARK = "site-ready"
TEXTS = tuple(f"{text.name}.html" for text in read_texts())
INDICES = ("names.html", "names.html#?q=ones", "errors.html", "classes.html")
PAGES = ("index.html", "index.html#?q=leaf", "leaves.html", "checklist.html", *INDICES, *TEXTS)
HEADER = {
    "suite": "0",
    "oracle": {"name": "torch", "version": "2.13.0", "device": "cpu"},
    "seed": 0,
    "default_dtype": "float32",
}


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A site of the miniature chapters, with a recording and a run that contain hostile texts."""
    folder = tmp_path_factory.mktemp("specification")
    chapters = read_spec(SPEC)
    programs = [program for chapter in chapters for program in chapter.programs]
    hostile = {"type": "RuntimeError", "message": made_runs.HOSTILE.replace("\ud800", "")}
    shown = made_observations.tensor([1.0, 2.0], [2], requires_grad=True)
    trace = Trace([Step(0, 2, {"x": shown}), Step(1, 3, error=hostile)])
    record(folder / "made.jsonl", HEADER, programs, lambda _: trace)
    lines = []
    for number, program in enumerate(programs):
        about = {"rule": program.rule, "sentence": program.sentence, "source": program.paste()}
        lines.append(
            made_runs.line(program.id, program.area, **about)
            if number
            else made_runs.uncompared(
                program.id, program.area, "unsupported", made_runs.HOSTILE, **about
            )
        )
    run = read_run(made_runs.run_file(folder / "run.jsonl", lines))
    build(
        chapters,
        Recording(folder / "made.jsonl"),
        [run],
        folder / "site",
        texts=read_texts(),
    )
    return folder / "site"


def test_the_index_of_names_finds_an_exact_name_first(go: Any) -> None:
    page = go("names.html#?q=ones")
    shown = texts(page, "[data-entry]:not([hidden]) dt code")
    assert shown[0] == "ones"
    assert one(page, "#found").text.endswith(("entry", "entries"))


@pytest.fixture
def go(opened: Callable[..., Any], site: Path) -> Callable[..., Any]:
    """Opens a page of the site afresh and waits until it is usable."""
    return lambda page: opened(f"{site.as_uri()}/{page}", mark=MARK)


def test_the_search_finds_rules_by_id_and_by_words(go: Any) -> None:
    page = go("index.html")
    assert page.execute_script("return performance.getEntriesByType('resource').length") == 0
    one(page, "#q").send_keys("ties-01")
    wait(lambda: texts(page, "#hits .row-id") == ["TIES-01"])
    assert address(page) == "#?q=ties-01"
    assert one(page, "#found").text == "1 rule found"
    one(page, "#hits a").click()
    wait(lambda: page.current_url.endswith("/ties.html#TIES-01"))
    page = go("index.html#?q=no+such+words")
    assert one(page, "#found").text == "0 rules found"


def test_the_search_ignores_common_words_and_a_missing_hyphen(go: Any) -> None:
    page = go("index.html#?q=TIES01")
    assert texts(page, "#hits .row-id") == ["TIES-01"]
    page = go("index.html#?q=why+does+the+ties-01+do+that")
    assert texts(page, "#hits .row-id")[0] == "TIES-01"


def test_a_rule_is_found_without_its_chapter(browser: Any, site: Path) -> None:
    browser.get(f"{site.as_uri()}/index.html#TIES-01.1")
    wait(lambda: browser.current_url.endswith("/ties.html#TIES-01.1"))
    assert one(browser, "#TIES-01\\.1 h3").text == "TIES-01.1"


def test_a_trace_is_folded_until_it_is_asked_for(go: Any) -> None:
    page = go("ties.html")
    assert not all_of(page, ".steps")
    one(page, ".trace-of summary").click()
    assert "tensor([1.0, 2.0], float32)" in one(page, ".steps").text
    one(page, "#unfold").click()
    assert len(all_of(page, ".steps")) == len(page.find_elements("css selector", ".example"))


def test_the_checklist_is_filtered_and_has_an_address(go: Any) -> None:
    from selenium.webdriver.support.ui import Select

    page = go("checklist.html")
    everything = len(all_of(page, "[data-kinds]"))
    Select(one(page, "#verdict")).select_by_value("unsupported")
    assert one(page, "#found").text == "1 program"
    assert address(page) == "#?verdict=unsupported"
    page = go("checklist.html" + address(page))
    assert len(all_of(page, "[data-kinds]")) == 1 < everything
    assert "⊘ unsupported" in one(page, "[data-kinds]").text


def test_nothing_a_backend_says_is_believed(go: Any) -> None:
    for name in ("leaves.html", "checklist.html", "ties.html"):
        page = go(name)
        unfold(page)
        assert page.execute_script("return window.hacked") is None
        assert not page.find_elements("css selector", "img, iframe, object")
        shown = page.find_element("css selector", "main").text
        assert "\u202e" not in shown
        assert "window.hacked = 1" in shown or name == "ties.html"


def test_without_javascript_the_chapters_are_whole(site: Path) -> None:
    with chromium(javascript=False) as page:
        page.get((site / "ties.html").as_uri())
        one(page, ".trace-of summary").click()
        assert "values" in one(page, ".steps").text and not all_of(page, "#unfold")
        page.get((site / "index.html").as_uri())
        assert all_of(page, ".chapters td") and not all_of(page, "#search")


class TestEveryPage(EveryPage):
    PAGES = PAGES


def test_a_program_can_be_copied_and_the_rules_stay_in_reach(opened: Any, site: Path) -> None:
    page = opened((site / "ties.html").as_uri(), mark=MARK)
    page.execute_script(
        "navigator.clipboard.writeText = async (text) => { window.copied = text; };"
        "document.querySelector('.copy-example').click();"
    )
    text = wait(lambda: page.execute_script("return window.copied"))
    assert text.startswith("import torch\n") or "torch" in text
    compile(text, "copied", "exec")
    page.execute_script("window.scrollTo(0, document.body.scrollHeight)")
    contents = one(page, ".contents summary")
    wait(
        lambda: page.execute_script(
            "return document.querySelector('.contents').getBoundingClientRect().top >= 0"
        )
    )
    contents.click()
    one(page, ".contents li a").click()
    wait(lambda: not page.execute_script("return document.querySelector('.contents').open"))
