"""The causes of a run's divergences in its report, in a real browser."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import made_runs
import pytest
from report_page import address, all_of, keys, one, ready, report, shows, texts, urgent, wait

from conformance.suite.chapters import read_spec
from reports.specification.prose import Prose

pytestmark = pytest.mark.browser


def made(folder: Path) -> str:
    lines = [made_runs.diverging(f"SEED-{n:02}.1", "seeds", "graph") for n in range(1, 6)]
    lines += [made_runs.diverging(f"ALIAS-{n:02}.1", "aliasing", "memory") for n in range(1, 4)]
    lines += [made_runs.line(f"TIES-{n:02}.1", "ties") for n in range(1, 4)]
    return report(folder, lines)


def test_causes_stand_above_everything_but_the_verdict(opened: Any, tmp_path: Path) -> None:
    page = opened(made(tmp_path))
    assert one(page, "#causes-title").text.startswith("2 causes of 8 divergences")
    assert texts(page, ".cause h3 b") == ["5", "3"]
    causes = one(page, ".causes").location["y"]
    assert one(page, "h1").location["y"] < causes < one(page, ".facts").location["y"]


def test_the_program_of_a_cause_is_one_click_away(opened: Any, tmp_path: Path) -> None:
    page = opened(made(tmp_path))
    assert "SEED-01.1" in texts(page, ".cause .row-id")
    marked = texts(page, ".cause li.marked")
    assert len(marked) == 2
    one(page, ".cause .row-id").click()
    shows(page, "SEED-01.1")


def test_program_and_rule_of_the_first_cause_are_on_the_first_screen(
    opened: Any, tmp_path: Path
) -> None:
    page = opened(made(tmp_path))
    for selector in (".cause .cause-rule", ".cause li.marked"):
        place = one(page, selector).rect
        assert place["y"] > 0
        assert place["y"] + place["height"] <= 900


def test_rules_are_linked_in_a_published_specification(opened: Any, tmp_path: Path) -> None:
    lines = [made_runs.diverging("SEED-01.1", "seeds", rule="SEED-01")]
    page = opened(report(tmp_path, lines, spec_url="https://spec.example/site/"))
    wanted = "https://spec.example/site/seeds.html#SEED-01"
    label = "[aria-label='SEED-01 in the specification']"
    assert one(page, f".cause {label}").get_attribute("href") == wanted
    one(page, ".cause .row-id").click()
    shows(page, "SEED-01.1")
    assert one(page, f"#program {label}").get_attribute("href") == wanted


def test_a_specification_at_an_address_that_acts_is_no_link(opened: Any, tmp_path: Path) -> None:
    lines = [made_runs.diverging("SEED-01.1", "seeds", rule="SEED-01")]
    page = opened(report(tmp_path, lines, spec_url="javascript:alert(1)"))
    assert not all_of(page, "[aria-label$='in the specification']")


def test_a_cause_is_a_list_with_an_address_and_takes_the_focus(opened: Any, tmp_path: Path) -> None:
    page = opened(made(tmp_path))
    all_of(page, ".cause h3 a")[1].click()
    wait(lambda: urgent(page) == ["ALIAS-01.1", "ALIAS-02.1", "ALIAS-03.1"])
    assert "cause=" in page.current_url
    wait(lambda: page.switch_to.active_element.get_attribute("id") == "programs-title")
    again = opened(page.current_url)
    ready(again)
    assert urgent(again) == ["ALIAS-01.1", "ALIAS-02.1", "ALIAS-03.1"]
    assert "of the cause" in one(again, "#found").text


def test_next_walks_what_diverges(opened: Any, tmp_path: Path) -> None:
    page = opened(made(tmp_path), "#SEED-05.1")
    shows(page, "SEED-05.1")
    assert "5 of 8" in one(page, ".crumbs").text
    keys(page, "j")
    for name in ("ALIAS-01.1", "ALIAS-02.1", "ALIAS-03.1"):
        shows(page, name)
        if name != "ALIAS-03.1":
            keys(page, "j")
    assert not all_of(page, ".crumbs a[rel=next]")
    assert address(page).startswith("#ALIAS-03.1")


def test_later_statements_follow_from_the_first_that_diverges(opened: Any, tmp_path: Path) -> None:
    line = made_runs.diverging("SEED-01.1", "seeds", "values")
    first = line["divergences"]["values"]
    line["divergences"]["memory"] = {
        **first,
        "step": first["step"] - 1,
        "line": first["line"] - 1,
        "name": "x",
        "field": "version",
        "expected": 1,
        "got": 0,
    }
    line["levels"]["memory"] = "diverges"
    page = opened(report(tmp_path, [line]))
    assert texts(page, ".cause h3 .muted") == ["memory"]
    page = opened(report(tmp_path, [line]), "#SEED-01.1")
    shows(page, "SEED-01.1")
    rows = texts(page, ".divergences tbody tr")
    assert rows[0].startswith("✗ memory")
    assert f"follows from line {first['line'] - 1}" in rows[1]


def test_a_run_that_conforms_has_no_causes(opened: Any, tmp_path: Path) -> None:
    page = opened(report(tmp_path, [made_runs.line("SEED-01.1", "seeds")]))
    ready(page)
    assert not all_of(page, ".causes")


def real(folder: Path, **header: Any) -> str:
    """A report of a divergence of a real rule with prose, and of one that no chapter has."""
    rule = next(rule for chapter in read_spec() for rule in chapter.rules if rule.id == "TIES-02")
    told = {"rule": rule.id, "sentence": rule.sentence}
    lines = [
        made_runs.diverging("TIES-02.1", "ties", **told),
        made_runs.diverging("SEED-01.1", "seeds", rule="SEED-01"),
        made_runs.line("TIES-02.2", "ties", **told),
    ]
    return report(folder, lines, **header)


def test_the_program_of_a_rule_has_the_rules_prose(opened: Any, tmp_path: Path) -> None:
    page = opened(real(tmp_path), "#TIES-02.1")
    prose = one(page, ".rule-prose .prose").text
    rule = next(rule for chapter in read_spec() for rule in chapter.rules if rule.id == "TIES-02")
    assert prose.split()[:3] == Prose({}, {}).plain(rule.prose).split()[:3]
    page = opened(real(tmp_path), "#SEED-01.1")  # its sentence is not that of the chapter's rule
    assert all_of(page, ".rule-prose") == []


def issue(page: Any) -> str:
    """The text that the page copies as that of an issue."""
    kept = "navigator.clipboard.writeText = async (text) => { window.copied = text; }"
    page.execute_script(kept)
    one(page, "#copy-issue").click()
    return str(wait(lambda: page.execute_script("return window.copied")))


def test_a_divergence_is_copied_as_the_text_of_an_issue(opened: Any, tmp_path: Path) -> None:
    header = {
        "seed": 7,
        "revision": "8d4e08a",
        "url": "https://ci.example/7/report.html",
        "backend": {"name": "cmd: node port.js", "title": "mine", "version": "3", "device": "cpu"},
    }
    page = opened(real(tmp_path, **header), "#TIES-02.1")
    text = issue(page)
    assert text.startswith("### `TIES-02.1`: diverges\n\n> ")
    assert "```python\nimport torch\n" in text
    assert "- values, line 4, `x.grad.values`: expected `[2, 2, 2]`, got `[2, 0.1, 2]`" in text
    assert "- got: `mine 3 (cpu)`, revision `8d4e08a`" in text
    assert "`conform show TIES-02.1 --backend 'cmd: node port.js' --oracle torch --seed 7`" in text
    assert text.endswith("- report: https://ci.example/7/report.html#TIES-02.1\n")
    page = opened(real(tmp_path), "#TIES-02.2")
    assert all_of(page, "#copy-issue") == []


def test_the_text_of_an_issue_cannot_be_ended_by_its_quotations(
    opened: Any, tmp_path: Path
) -> None:
    line = made_runs.diverging("`A`", "ties", sentence="a <b>\n# c")
    line["source"] = "text = '```'\n"
    page = opened(report(tmp_path, [line]), "#%60A%60")
    text = issue(page)
    assert text.startswith("### `` `A` ``: diverges\n\n> a &lt;b> # c\n\n")
    assert "````python\ntext = '```'\n````\n" in text
