"""The report's accessibility: keyboard, themes, small windows, no scripts, hostile text, size."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import made_runs
import pytest
from access import contrast, focus_is_seen, nameless, width
from chromium import chromium, prefer, resize
from report_page import (
    address,
    all_of,
    choose,
    keys,
    one,
    report,
    shows,
    texts,
    urgent,
    wait,
)

pytestmark = pytest.mark.browser

GROUND = "return getComputedStyle(document.body).backgroundColor"
STORED = "localStorage.getItem('autograd-conformance-theme')"


def test_everything_can_be_done_with_the_keyboard(opened: Any, small_report: str) -> None:
    from selenium.webdriver.common.keys import Keys

    page = opened(small_report)
    keys(page, "/")
    wait(lambda: page.switch_to.active_element.get_attribute("id") == "filter-q")
    keys(page, "seed")
    assert urgent(page) == ["SEED-03.1", "SEED-04.1", "SEED-66.1", "SEED-05.1"]
    keys(page, Keys.ESCAPE)
    wait(lambda: len(urgent(page)) == 15)
    choose(page, "area", "seeds")
    page.execute_script("document.activeElement.blur()")
    keys(page, "j")
    keys(page, "j")
    keys(page, Keys.ENTER)
    shows(page, "SEED-04.1")
    assert page.switch_to.active_element.get_attribute("id") == "program-id"
    keys(page, "k")
    shows(page, "SEED-03.1")
    assert address(page) == "#SEED-03.1?area=seeds"
    keys(page, Keys.ESCAPE)
    wait(lambda: urgent(page) == ["SEED-03.1", "SEED-04.1", "SEED-66.1", "SEED-05.1"])
    assert page.switch_to.active_element.text.startswith("✗")
    assert "SEED-03.1" in page.switch_to.active_element.text
    keys(page, "?")
    assert one(page, "dialog[open]")
    keys(page, Keys.ESCAPE)
    wait(lambda: not all_of(page, "dialog"))


def test_focus_can_be_seen(opened: Any, small_report: str) -> None:
    from selenium.webdriver.common.keys import Keys

    page = opened(small_report)
    for _ in range(25):
        keys(page, Keys.TAB)
        assert focus_is_seen(page)


def test_going_back_finds_the_list_as_it_was(opened: Any, many_report: str) -> None:
    page = opened(many_report, "#?verdict=diverges")
    row = all_of(page, "#urgent .row a")[40]
    page.execute_script("arguments[0].scrollIntoView({block: 'center'})", row)
    before = page.execute_script("return scrollY")
    name = row.find_element("css selector", ".row-id").text
    row.click()
    shows(page, name)
    assert page.execute_script("return scrollY") == 0
    page.back()
    wait(lambda: all_of(page, "#overview"))
    assert page.execute_script("return scrollY") == before > 0


def test_nothing_a_backend_says_is_believed(opened: Any, small_report: str) -> None:
    page = opened(small_report, "#SEED-66.1")
    shows(page, "SEED-66.1")
    assert page.execute_script("return window.hacked") is None
    assert not page.find_elements("css selector", "img, iframe, object")
    scripts = page.execute_script(
        "return document.querySelectorAll('script:not([data-blob])').length"
    )
    assert scripts == 2
    text = one(page, "#program").text
    assert "</script><script>window.hacked = 1</script>" in text
    assert "\\x1b[31mred" in text and "\\u202egnp.exe" in text and "\\x00" in text
    assert "\u202e" not in text
    assert "__proto__" in text
    assert not [a for a in all_of(page, "a") if (a.get_attribute("href") or "").startswith("java")]
    assert "show all" in text and len(text) < 20_000
    assert width(page) <= 1280


def test_the_policy_forbids_scripts_that_are_not_the_pages(browser: Any, small_report: str) -> None:
    browser.get(small_report)
    with pytest.raises(Exception, match="TrustedHTML"):
        browser.execute_script("document.body.innerHTML = '<b>x</b>'")
    browser.execute_script(
        "const made = document.createElement('script');"
        "made.append('window.hacked = 3'); document.body.append(made)"
    )
    assert browser.execute_script("return window.hacked") is None
    wait(
        lambda: any(
            "will not be executed" in told["message"] for told in browser.get_log("browser")
        )
    )


def test_a_page_that_was_cut_says_so(browser: Any, small_report: str, tmp_path: Path) -> None:
    text = Path(small_report.removeprefix("file://")).read_text("utf-8")
    cut = tmp_path / "cut.html"
    cut.write_text(text[: text.index('<script type="application/gzip" data-blob="sources">')])
    browser.get(cut.as_uri())
    message = wait(lambda: next(iter(all_of(browser, "#found [role=alert]")), None)).text
    assert 'The file is incomplete: its part "sources" is missing' in message
    browser.get_log("browser")


def test_without_javascript_verdict_matrix_and_failures_are_there(small_report: str) -> None:
    with chromium(javascript=False) as page:
        page.get(small_report)
        assert "diverges from torch" in one(page, "h1").text
        assert one(page, '.matrix a[aria-label="seeds, graph: 1 diverges"]').text == "✗1"
        rows = texts(page, ".failures .row")
        assert len(rows) == 15
        assert "values, line 4, x.grad.values: expected [2, 2, 2], got [2, 0.1, 2]" in rows[0]
        assert not all_of(page, ".js-only, #filters, #theme")


TARGETS = """
return [...document.querySelectorAll("main a[href^='#']")].map((link) => link.hash)
  .filter((hash) => !document.getElementById(hash.slice(1)));
"""


def test_without_javascript_links_lead_to_the_list(small_report: str) -> None:
    with chromium(javascript=False) as page:
        page.get(small_report)
        link = one(page, ".tally .is-diverges a")
        link.click()
        row = one(page, ".failures .row:has(:target)")
        assert row.find_element("css selector", ".row-id").text == "TIES-02.1"
        page.get(small_report)
        one(page, '.matrix a[aria-label="seeds, graph: 1 diverges"]').click()
        row = one(page, ".failures .row:has(:target)")
        assert "graph" in row.text
        assert not [name for name in page.execute_script(TARGETS) if name.startswith("#?")]


def test_an_area_with_a_lone_surrogate_can_be_chosen(opened: Any, tmp_path: Path) -> None:
    lines = [made_runs.diverging("X-01.1", "odd \ud800 area"), made_runs.line("X-02.1", "leaves")]
    page = opened(report(tmp_path, lines))
    one(page, ".heat a[href*='odd']").click()
    wait(lambda: texts(page, "#urgent .row-id") == ["X-01.1"])
    assert "odd \\ud800 area" in one(page, ".matrix").text


def test_a_sentence_that_is_long_takes_a_few_lines(opened: Any, tmp_path: Path) -> None:
    literal = str([[0.5] * 40] * 40)
    lines = [made_runs.diverging("sweep/exp/1", "sweep", sentence=f"exp: exp({literal})")]
    page = opened(report(tmp_path, lines))
    assert one(page, ".cause .cause-rule").rect["height"] < 150
    page = opened(report(tmp_path, lines), "#sweep/exp/1")
    shows(page, "sweep/exp/1")
    assert one(page, ".program-title").rect["height"] < 400
    one(page, ".program-title .sentence button").click()
    assert literal in one(page, ".program-title .sentence").text


LANDMARKS = """
const kinds = "section, nav, aside, form, [role=region], [role=search]";
const named = [...document.querySelectorAll(kinds)]
  .filter((one) => one.checkVisibility() && (one.ariaLabel || one.getAttribute("aria-labelledby")))
  .map((one) => `${one.getAttribute("role") ?? one.localName} ` +
    (one.ariaLabel ?? document.getElementById(one.getAttribute("aria-labelledby")).textContent));
return named.filter((name, at) => named.indexOf(name) !== at);
"""


@pytest.mark.parametrize("fragment", ["", "#TIES-02.1", "#TIES-37.1"])
def test_landmarks_have_names_of_their_own(fragment: str, opened: Any, small_report: str) -> None:
    page = opened(small_report, fragment)
    assert page.execute_script(LANDMARKS) == []
    assert page.execute_script("return document.querySelectorAll('[role=region]').length") == 0


def test_search_is_near_the_beginning_for_the_keyboard(opened: Any, small_report: str) -> None:
    from selenium.webdriver.common.keys import Keys

    page = opened(small_report)
    keys(page, Keys.TAB, Keys.TAB)
    assert page.switch_to.active_element.get_attribute("id") == "search-open"
    keys(page, Keys.ENTER)
    wait(lambda: page.switch_to.active_element.get_attribute("id") == "filter-q")


def test_a_large_error_of_conforming_values_is_explained(opened: Any, small_report: str) -> None:
    page = opened(small_report)
    told = page.execute_script(
        "return document.getElementById('ulp-title').nextElementSibling.textContent"
    )
    assert "A large figure is no divergence" in told


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("fragment", ["", "#TIES-02.1", "#TIES-37.1", "#SEED-66.1", "#fuzz/9f3c2a"])
def test_every_text_has_contrast_enough(
    fragment: str, scheme: str, browser: Any, opened: Any, small_report: str
) -> None:
    prefer(browser, scheme)
    page = opened(small_report, fragment)
    ground = page.execute_script(GROUND)
    assert (ground == "rgb(21, 23, 27)") == (scheme == "dark")
    found = contrast(page)
    assert found["checked"] > 20
    assert found["faint"] == []


def test_a_chosen_theme_is_stored(opened: Any, small_report: str) -> None:
    page = opened(small_report)
    light = page.execute_script(GROUND)
    theme = one(page, "#theme")
    theme.click()
    theme.click()
    assert theme.text == "Theme: dark"
    assert page.execute_script(GROUND) != light
    assert page.execute_script(f"return {STORED}") == "dark"
    theme.click()
    assert page.execute_script(GROUND) == light
    assert page.execute_script(f"return {STORED}") == "auto"


def test_a_stored_theme_is_applied(browser: Any, opened: Any, small_report: str) -> None:
    # The value is set before the page's own scripts run: how long a browser takes to carry
    # storage from one page to the next is the browser's matter, and sometimes many seconds.
    light = opened(small_report).execute_script(GROUND)
    set_first = "localStorage.setItem('autograd-conformance-theme', 'dark')"
    script = browser.execute_cdp_cmd(
        "Page.addScriptToEvaluateOnNewDocument", {"source": f"try {{ {set_first} }} catch {{}}"}
    )
    try:
        page = opened(small_report)
        assert one(page, "#theme").text == "Theme: dark"
        assert page.execute_script(GROUND) != light
    finally:
        browser.execute_cdp_cmd("Page.removeScriptToEvaluateOnNewDocument", script)
        browser.execute_script("localStorage.removeItem('autograd-conformance-theme')")


@pytest.mark.parametrize("fragment", ["", "#TIES-02.1", "#TIES-37.1", "#SEED-66.1"])
def test_a_narrow_window_needs_no_sideways_scrolling(
    fragment: str, browser: Any, opened: Any, small_report: str
) -> None:
    resize(browser, 360, 800)
    page = opened(small_report, fragment)
    assert width(page) <= 360


CLIPPED = """
return [...document.querySelectorAll("table")].flatMap((table) => {
  const frames = [];
  for (let one = table; one; one = one.parentElement) frames.push(one);
  return frames.filter((one) => one.clientWidth && one.scrollWidth > one.clientWidth + 1)
    .map((one) => `${one.tagName} ${one.className} ${one.scrollWidth} > ${one.clientWidth}`);
});
"""


@pytest.mark.parametrize("across", [1280, 2560])
@pytest.mark.parametrize("fragment", ["", "#TIES-02.1", "#SEED-66.1"])
def test_tables_take_the_window_and_are_not_clipped(
    across: int, fragment: str, browser: Any, opened: Any, small_report: str
) -> None:
    resize(browser, across, 1000)
    page = opened(small_report, fragment)
    assert page.find_elements("css selector", "table")
    assert page.execute_script(CLIPPED) == []
    assert width(page) <= across


def test_controls_have_names(opened: Any, small_report: str) -> None:
    for fragment in ("", "#TIES-02.1"):
        assert nameless(opened(small_report, fragment)) == []


def test_ten_thousand_programs_stay_responsive(opened: Any, many_report: str) -> None:
    # Generous limits, for slow machines; benchmarks/report.py has the figures.
    page = opened(many_report)
    ready = page.execute_script("return performance.getEntriesByName('report-ready')[0].startTime")
    assert ready < 3000
    page.execute_script("performance.clearMeasures('filter')")
    one(page, "#filter-q").send_keys("operator_7 float64")
    choose(page, "verdict", "conforms")
    taken = page.execute_script(
        "return performance.getEntriesByName('filter').map((entry) => entry.duration)"
    )
    assert len(taken) > 10
    assert max(taken) < 500
    assert all_of(page, "#groups .group")
    assert len(page.find_elements("css selector", ".row")) <= 60


def test_a_long_list_is_paged(opened: Any, many_report: str) -> None:
    page = opened(many_report, "#?area=fuzz")
    wait(lambda: all_of(page, "#groups .row"))
    before = len(all_of(page, "#groups .row"))
    more = one(page, "#groups .more")
    assert before == 60
    more.click()
    assert len(all_of(page, "#groups .row")) > before
    assert page.switch_to.active_element.tag_name == "a"
