"""The dashboard in a real browser, opened from disk and from a server."""

from __future__ import annotations

import functools
import http.server
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import made_archive
import made_runs
import pytest
from access import EveryPage, focus_is_seen
from chromium import chromium
from report_page import address, all_of, one, ready, texts, wait

from conformance.run_files.changes import KINDS, changes, standings
from conformance.run_files.reading import read_run
from reports.dashboard.overview import KIND_WORDS
from reports.dashboard.site import build

pytestmark = pytest.mark.browser

MARK = "site-ready"
PAGES = (
    "index.html",
    "backend-impl-cpu.html",
    "backend-torch-cpu.html",
    "programs.html",
    "programs.html#TIES-02.1",
    "programs.html#TIES-02",
    "compare.html#run001..run003",
)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A site of runs, some with hostile texts, and of a file that is no run."""
    folder = tmp_path_factory.mktemp("dashboard")
    runs = made_archive.archive(folder / "runs")
    (runs / "cut.jsonl").write_bytes((runs / "run003.jsonl").read_bytes()[:-500])
    for number, line in enumerate(made_archive.flipping("..x.x"), start=6):
        backend = made_archive.backend("port", "1.0")
        made_archive.run(runs, number, [line, made_runs.hostile()], backend=backend)
    made_archive.versions_of_torch(runs, first=11)
    build(runs, folder / "site", folder / "store")
    return folder / "site"


@pytest.fixture
def go(opened: Callable[..., Any], site: Path) -> Callable[..., Any]:
    """Opens a page of the site afresh and waits until it is usable."""

    def open_(page: str, base: str = site.as_uri()) -> Any:
        loads = page.startswith(("programs", "compare"))
        return opened(f"{base}/{page}", mark=MARK if loads else None)

    return open_


def kinds(page: Any) -> dict[str, int]:
    """The counts of a comparison, by their labels."""
    found = {}
    for text in texts(page, "#kinds li"):
        words = text.split()
        at = next(number for number, word in enumerate(words) if word.isdecimal())
        found[" ".join(words[at + 1 :])] = int(words[at])
    return found


def ids(page: Any) -> list[str]:
    return texts(page, "#results .row-id")


def test_what_changed_comes_first_and_nothing_is_fetched(go: Any) -> None:
    page = go("index.html")
    assert one(page, "h1").text == "6 programs diverge that did not in the run before"
    assert one(page, "h1").location["y"] < 200
    assert texts(page, "h2")[:3] == [
        "1 file is not in these pages",
        "What changed since the run before",
        "What diverges now and apart from it, what was not compared",
    ]
    assert "cut.jsonl" in one(page, ".note").text
    assert page.execute_script("return performance.getEntriesByType('resource').length") == 0


def test_any_two_runs_are_compared_as_the_command_compares_them(go: Any, site: Path) -> None:
    runs = [read_run(path) for path in sorted((site.parent / "runs").glob("run*.jsonl"))]
    for before, after in ((1, 3), (3, 1), (0, 5), (2, 4), (3, 3), (11, 12), (12, 11)):
        found = changes(standings(runs[before].programs), standings(runs[after].programs))
        page = go(f"compare.html#run{before:03d}..run{after:03d}")
        shown = kinds(page)
        for kind in KINDS:
            assert shown[KIND_WORDS[kind]] == len(found.of_kind(kind)), kind
        for kind in ("added", "removed", "unchanged"):
            assert shown[kind] == len(getattr(found, kind)), kind
        changed = [change.id for change in found.changed]
        assert set(ids(page)) == {*changed, *found.added, *found.removed}


def test_a_comparison_has_an_address_that_can_be_sent(go: Any) -> None:
    page = go("compare.html#run002..run003")
    next(link for link in all_of(page, "#kinds a") if "no longer" in link.text).click()
    wait(lambda: ids(page) == ["TIES-02.2"])
    assert address(page) == "#run002..run003?kind=lost"
    assert "conforms → unsupported" in one(page, "#results .row").text
    page = go("compare.html" + address(page))
    assert ids(page) == ["TIES-02.2"]
    one(page, "#swap").click()
    wait(lambda: address(page) == "#run003..run002?kind=lost")
    wait(lambda: ids(page) == [])
    assert one(page, "#before").get_attribute("value") == "run003"


def test_runs_that_are_not_alike_are_compared_with_a_warning(go: Any) -> None:
    page = go("compare.html#run003..run005")
    assert "Run run005 was interrupted" in one(page, "#notes").text
    page = go("compare.html#run003..run004")
    assert "different configurations" in one(page, "#notes").text
    page = go("compare.html#nobody..run004")
    assert "No two runs of this site are named nobody..run004" in one(page, "#notes").text


def test_a_program_has_its_history(go: Any) -> None:
    page = go("programs.html#TIES-02.1")
    assert one(page, "h1").text == "TIES-02.1"
    history = next(s for s in all_of(page, ".history") if s.text.startswith("impl (cpu)"))
    rows = [row.text for row in history.find_elements("css selector", "tbody tr")]
    assert len(rows) == 3
    assert "2026-01-03 10:00, run002" in rows[1] and "✗ diverges" in rows[1]
    assert "values, line 4, x.grad.values: expected [2, 2, 2], got [2, 0.1, 2]" in rows[1]
    assert len(history.find_elements("css selector", ".strip rect")) == 3
    assert "y = x * 2" in one(page, ".code").text
    assert "conform show TIES-02.1 --backend impl --oracle torch" in history.text
    compare = history.find_elements("css selector", "tbody a[href^='compare']")[1]
    compare.click()
    ready(page, MARK)
    assert address(page) == "#run001..run002"


def test_a_program_has_its_history_over_the_versions_of_torch(go: Any) -> None:
    page = go("programs.html#TIES-37.1")
    history = next(s for s in all_of(page, ".history") if s.text.startswith("torch (cpu)"))
    rows = [row.text for row in history.find_elements("css selector", "tbody tr")]
    assert ["✓ conforms" in row for row in rows] == [True, False, False, False]
    told = [next(word for word in row.split() if word.startswith("2.")) for row in rows[1:]]
    assert told == ["2.10", "2.9", "2.0"]
    assert all("⇄ other version" in row for row in rows[1:])
    page = go("backend-torch-cpu.html")
    assert texts(page, "h1") == ["torch 2.15.1 (cpu) conforms in all 2 programs"]
    ticks = page.find_elements("css selector", ".panel .tick")
    labels = [tick.get_attribute("textContent") for tick in ticks]
    assert labels[:4] == ["2.0", "2.9", "2.10", "2.15"]
    assert "1 conforming now" in one(page, ".moves").text


def test_a_rule_has_its_programs_histories(go: Any) -> None:
    page = go("programs.html#TIES-02")
    history = next(s for s in all_of(page, ".history") if s.text.startswith("impl (cpu)"))
    rows = history.find_elements("css selector", ".strips li")
    assert [row.text.split()[0] for row in rows] == [f"TIES-02.{n}" for n in range(1, 6)]
    assert "2 changes" in rows[0].text and "never changed" in rows[2].text
    page = go("programs.html#NOBODY-01")
    assert "No run has a program or a rule of this name" in one(page, ".note").text


def test_a_cell_of_the_matrix_leads_to_its_programs(go: Any) -> None:
    page = go("index.html")
    cell = one(page, '.grid a[aria-label="impl 0.2.0 (cpu), ties, values: 1 diverges"]')
    cell.click()
    ready(page, MARK)
    assert ids(page) == ["TIES-02.1"]
    page = go("index.html")
    one(page, '.grid a[aria-label="impl 0.2.0 (cpu), ties: 1 unsupported"]').click()
    ready(page, MARK)
    assert ids(page) == ["TIES-02.2"]
    one(page, "#filter-q").send_keys("no such program")
    wait(lambda: ids(page) == [])
    assert "q=no+such" in address(page)


def test_flaky_programs_are_listed(go: Any) -> None:
    page = go("index.html")
    table = one(page, "[aria-label='Flaky programs']").text
    assert "SEED-01.1" in table and "3 in 5 runs" in table


def test_what_a_chart_shows_stands_in_a_table_too(go: Any) -> None:
    page = go("backend-impl-cpu.html")
    charts = page.find_elements("css selector", ".panels, .bars")
    assert len(charts) == 3
    for chart in charts:
        after = chart.find_element("xpath", "following-sibling::details[1]")
        assert after.find_elements("css selector", "table tbody tr")
        assert not chart.find_elements("css selector", "a, button")
    drawn = page.find_elements("css selector", ".panel, .bars")
    assert all(part.get_attribute("aria-hidden") == "true" for part in drawn)


def test_a_server_serves_the_same_site(go: Any, site: Path) -> None:
    class Quiet(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *_: Any) -> None:
            pass

    handler = functools.partial(Quiet, directory=str(site))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        page = go("compare.html#run002..run003", f"http://127.0.0.1:{server.server_port}")
        assert kinds(page)["no longer compared"] == 1
        page.get("about:blank")
        # Chromium requests an icon (favicon) from every server; there is none.
        page.get_log("browser")
        server.shutdown()


def test_nothing_a_backend_says_is_believed(go: Any) -> None:
    for name in ("index.html", "programs.html#SEED-66.1", "programs.html#?run=run006"):
        page = go(name)
        assert page.execute_script("return window.hacked") is None
        assert not page.find_elements("css selector", "img, iframe, object")
        text = page.find_element("css selector", "main").text
        assert "window.hacked = 1" in text and "\u202e" not in text


def test_the_policy_forbids_scripts_that_are_not_the_pages(browser: Any, site: Path) -> None:
    browser.get((site / "compare.html").as_uri())
    ready(browser, MARK)
    with pytest.raises(Exception, match="TrustedHTML"):
        browser.execute_script("document.body.innerHTML = '<b>x</b>'")
    with pytest.raises(Exception, match="TrustedScriptURL"):
        browser.execute_script("document.createElement('script').src = 'data/x.js'")
    with pytest.raises(Exception, match="disallowed"):
        browser.execute_script("trustedTypes.createPolicy('mine', {})")
    browser.get_log("browser")


def test_a_site_that_was_copied_in_part_says_so(browser: Any, site: Path, tmp_path: Path) -> None:
    (tmp_path / "compare.html").write_bytes((site / "compare.html").read_bytes())
    browser.get((tmp_path / "compare.html").as_uri())
    wait(lambda: "is missing. Build the site again" in one(browser, "#found").text)
    browser.get_log("browser")


def test_without_javascript_the_overview_is_whole(site: Path) -> None:
    with chromium(javascript=False) as page:
        page.get((site / "index.html").as_uri())
        assert "TIES-02.2" in one(page, "main").text
        assert all_of(page, ".grid td") and not all_of(page, "#theme")
        page.get((site / "compare.html").as_uri())
        assert "needs JavaScript" in one(page, "main").text


class TestEveryPage(EveryPage):
    PAGES = PAGES


def test_a_page_can_be_used_by_keyboard(go: Any) -> None:
    from selenium.webdriver.common.keys import Keys

    page = go("compare.html#run002..run003")
    for _ in range(14):
        page.switch_to.active_element.send_keys(Keys.TAB)
        assert focus_is_seen(page)


def test_a_program_leads_to_its_report(opened: Any, tmp_path: Path) -> None:
    lines = [made_runs.diverging("TIES-02.1", "ties", rule="TIES-02")]
    made_archive.run(tmp_path / "runs", 0, lines, url="https://ci.example/7/report.html")
    build(tmp_path / "runs", tmp_path / "site", tmp_path / "store")
    page = opened((tmp_path / "site" / "programs.html").as_uri(), "#TIES-02.1", mark=MARK)
    link = one(page, "#program table a[href^='https:']")
    assert link.get_attribute("href") == "https://ci.example/7/report.html#TIES-02.1"
