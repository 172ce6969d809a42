"""The report of a run in a real browser, opened from disk."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from urllib.parse import quote

import made_observations
import made_runs
import pytest
from report_page import address, all_of, choose, keys, one, report, shows, texts, urgent, wait

pytestmark = pytest.mark.browser


def test_the_verdict_comes_first_and_nothing_is_fetched(opened: Any, small_report: str) -> None:
    page = opened(small_report)
    assert one(page, "h1").text == (
        "impl 0.1.0 (cpu) diverges from torch 2.13.0 (cpu) in 6 of 16 programs"
    )
    assert one(page, "h1").location["y"] < 200
    assert page.execute_script("return performance.getEntriesByType('resource').length") == 0


def test_failures_come_before_everything_else(opened: Any, small_report: str) -> None:
    page = opened(small_report)
    assert urgent(page) == [
        "TIES-02.1",
        "SEED-03.1",
        "SEED-04.1",
        "ACCUM-01.1",
        "ALIAS-01.1",
        "INPLACE-01.1",
        "INPLACE-02.1",
        "fuzz/9f3c2a",
        "op/mode/plain/float32",
        "op/relu/plain/bfloat16",
        "ALIAS-02.1",
        "SEED-66.1",
        "TIES-37.1",
        "TIES-37.2",
        "SEED-05.1",
    ]
    titles = texts(page, "#urgent h3")
    assert titles[0] == "✗ Diverges 6"
    assert "≉ Known divergence 2" in titles
    assert titles[-1] == "⇄ As another version of torch 3"


def test_a_link_opens_a_program_with_its_first_divergence_marked(
    opened: Any, small_report: str
) -> None:
    page = opened(small_report, "#TIES-02.1")
    shows(page, "TIES-02.1")
    assert "TIES-02.1" in page.title
    assert one(page, ".sentence").text == made_runs.SENTENCES["ties"]
    assert not all_of(page, "#overview")
    (marked,) = all_of(page, ".code li.marked")
    assert marked.text.startswith("y.backward(torch.ones_like(y))")
    assert "first divergence: values" in marked.text
    first = one(page, ".trace .first")
    assert first.find_element("css selector", "th").text.startswith("x.grad")
    assert [cell.text for cell in first.find_elements("css selector", "td .value")] == [
        "[2., 2., 2.]",
        "[2., 0.1, 2.]",
    ]
    marks = first.find_elements("css selector", "td[data-side=got] mark.far")
    assert [mark.text for mark in marks] == ["0.1"]
    assert one(page, "#command").text == "conform show TIES-02.1 --backend impl --oracle torch"


@pytest.mark.parametrize(
    ("identifier", "level", "line", "expected", "got"),
    [
        ("SEED-03.1", "graph", "line 3", "False", "True"),
        ("ACCUM-01.1", "memory", "line 3", "0", "3"),
        ("ALIAS-01.1", "diagnostics", "line 3", "MulBackward0", "MulBackward1"),
        (
            "SEED-04.1",
            "values",
            "line 5",
            "RuntimeError: grad can be implicitly created only for scalar outputs",
            "no error",
        ),
    ],
)
def test_every_level_has_its_first_divergence(
    identifier: str, level: str, line: str, expected: str, got: str, opened: Any, small_report: str
) -> None:
    page = opened(small_report, f"#{identifier}")
    shows(page, identifier)
    cells = texts(page, ".divergences td")
    assert cells[0] == f"✗ {level}" and cells[1] == line
    assert cells[3:] == [expected, got]
    (row,) = all_of(page, ".trace tr.first")
    assert level in row.text
    assert [cell.text for cell in row.find_elements("css selector", "td")] == [expected, got]


def test_another_version_has_its_versions_and_is_not_marked_as_a_divergence(
    opened: Any, small_report: str
) -> None:
    page = opened(small_report, "#TIES-37.1")
    shows(page, "TIES-37.1")
    assert one(page, ".program-verdict").text == "⇄ other version"
    assert "what torch 2.12 to 2.13 shows" in one(page, ".note.is-other_version").text
    assert texts(page, ".levels li")[0] == "values\n⇄ other version line 4"
    assert texts(page, ".divergences td")[0] == "⇄ values"
    assert texts(page, ".divergences h2") == ["First difference"]
    assert one(page, ".code li.marked .chip").text == "⇄ first difference: values"
    assert "⇄ first difference: values" in one(page, ".trace tr.first").text
    assert not [text for text in texts(page, "#program *") if "✗" in text]


def test_programs_can_be_filtered_by_the_versions_that_they_show(
    opened: Any, small_report: str
) -> None:
    page = opened(small_report)
    one(page, "#filter-versions")
    next(link for link in all_of(page, ".matrix a") if link.text == "2.12 to 2.13").click()
    wait(lambda: urgent(page) == ["TIES-37.1", "TIES-37.2"])
    assert address(page) == "#?versions=2.12%20to%202.13"
    choose(page, "versions", "2.14")
    assert urgent(page) == ["SEED-05.1"]
    choose(page, "versions", "")
    one(page, '.matrix a[aria-label="ties, values: 2 other version"]').click()
    wait(lambda: urgent(page) == ["TIES-37.1", "TIES-37.2"])
    assert address(page) == "#?area=ties&level=values&verdict=other_version"


def test_equal_traces_are_shown_once(opened: Any, small_report: str) -> None:
    page = opened(small_report, "#LEAF-01.1")
    shows(page, "LEAF-01.1")
    assert "equal" in one(page, ".traces p").text
    assert len(all_of(page, ".trace thead th")) == 2
    assert not all_of(page, ".trace .first, .trace .differs")
    assert "reference/spec/01-leaves.md:12" in one(page, ".about").text


def test_differences_within_the_tolerance_are_no_divergence(opened: Any, small_report: str) -> None:
    page = opened(small_report, "#op/exp/plain/float64")
    shows(page, "op/exp/plain/float64")
    assert not all_of(page, ".trace .first, .trace .differs, mark.far")
    row = all_of(page, ".trace .accepted")[0]
    assert "accepted" in row.text and "2.0000000000000004" in row.text


def test_digits_come_on_demand_and_long_integers_keep_theirs(
    opened: Any, small_report: str
) -> None:
    page = opened(small_report, "#op/amax/ties/int64")
    shows(page, "op/amax/ties/int64")
    assert str(2**63 - 1) in one(page, ".trace").text
    made = made_runs.line(
        "op/a", "operators", expected=made_observations.traced("float64", [1 / 3])
    )
    page = opened(report(Path(small_report.removeprefix("file://")).parent / "..", [made]), "#op/a")
    assert "0.33333]" in one(page, ".trace").text
    one(page, "#full-precision").click()
    assert "0.3333333333333333]" in one(page, ".trace").text


def test_the_usual_fields_are_folded(opened: Any, small_report: str) -> None:
    page = opened(small_report, "#LEAF-01.1")
    shows(page, "LEAF-01.1")
    assert "strides" not in one(page, ".trace").text
    fold = one(page, ".trace .spanning button")
    assert fold.get_attribute("aria-expanded") == "false"
    fold.click()
    assert fold.get_attribute("aria-expanded") == "true"
    assert "strides" in one(page, ".trace").text


def test_a_cell_of_the_matrix_filters_and_its_address_can_be_sent(
    opened: Any, small_report: str
) -> None:
    page = opened(small_report)
    one(page, '.matrix a[aria-label="seeds, graph: 1 diverges"]').click()
    wait(lambda: urgent(page) == ["SEED-03.1"])
    assert address(page) == "#?area=seeds&level=graph&verdict=diverges"
    page = opened(small_report, address(page))
    assert urgent(page) == ["SEED-03.1"]
    assert one(page, "#filter-area").get_attribute("value") == "seeds"
    assert one(page, "#found").text == "1 program of 19"
    one(page, "#clear").click()
    wait(lambda: one(page, "#found").text == "19 programs")
    assert address(page) == "#?"


def test_filters_combine(opened: Any, small_report: str) -> None:
    page = opened(small_report)
    choose(page, "dtype", "float32")
    choose(page, "verdict", "diverges")
    choose(page, "level", "diagnostics")
    assert urgent(page) == ["ALIAS-01.1", "INPLACE-01.1"]
    choose(page, "level", "")
    choose(page, "verdict", "unsupported")
    assert urgent(page) == ["op/mode/plain/float32"]
    choose(page, "operator", "relu")
    assert "No program matches" in one(page, "#groups").text


@pytest.mark.parametrize(
    ("typed", "found"),
    [
        ("ties-02", ["TIES-02.1"]),
        ("shared equally", ["TIES-02.1", "TIES-37.1", "TIES-37.2"]),
        ("dtype=torch.bfloat16", ["op/relu/plain/bfloat16"]),
        ("signal 11", ["fuzz/9f3c2a"]),
        ("torch BACKWARD alias-01", ["ALIAS-01.1"]),
        ("no such thing", []),
    ],
)
def test_search_looks_at_ids_sentences_sources_and_reasons(
    typed: str, found: list[str], opened: Any, small_report: str
) -> None:
    page = opened(small_report)
    one(page, "#filter-q").send_keys(typed)
    assert urgent(page) == found
    assert address(page).startswith("#?q=")


def test_rules_and_operators_can_be_browsed(opened: Any, small_report: str) -> None:
    page = opened(small_report)
    areas = all_of(page, ".fold.area > summary")
    assert [area.text.split("\n")[0] for area in areas][:2] == ["leaves", "ties"]
    areas[0].click()
    group = one(page, ".fold.group > summary")
    assert "LEAF-01" in group.text and made_runs.SENTENCES["leaves"] in group.text
    if not all_of(page, ".fold.group .row"):
        group.click()
    rows = wait(lambda: all_of(page, ".fold.group .row"))
    assert [row.find_element("css selector", ".row-id").text for row in rows] == [
        "LEAF-01.1",
        "LEAF-01.2",
    ]
    assert "y = x * 2" in rows[0].text


def test_programs_and_commands_can_be_copied(opened: Any, small_report: str) -> None:
    page = opened(small_report, "#op/exp/plain/float64")
    shows(page, "op/exp/plain/float64")
    page.execute_script(
        "window.copied = []; navigator.clipboard.writeText = async (text) => copied.push(text)"
    )
    one(page, "#copy-program").click()
    keys(page, "r")
    source = next(m["source"] for m in made_runs.small() if m["id"] == "op/exp/plain/float64")
    wait(lambda: page.execute_script("return copied.length") == 2)
    assert page.execute_script("return copied") == [
        source,
        "conform show op/exp/plain/float64 --backend impl --oracle torch",
    ]
    assert one(page, "#copy-program").text == "Copied"


def test_ids_that_a_shell_would_read_are_quoted(opened: Any, tmp_path: Path) -> None:
    name = "fuzz/a b;$(rm)'?#%"
    page = opened(report(tmp_path, [made_runs.line(name, "fuzz")]), f"#{quote(name)}")
    shows(page, name)
    assert one(page, "#command").text == (
        "conform show 'fuzz/a b;$(rm)'\"'\"'?#%' --backend impl --oracle torch"
    )


def test_a_rule_is_an_address_too_and_an_unknown_one_is_told(
    opened: Any, small_report: str
) -> None:
    page = opened(small_report, "#LEAF-01")
    assert one(page, "#found").text == "2 programs of 19 under rule LEAF-01"
    page = opened(small_report, "#SEED-99.1")
    assert "This run has no program SEED-99.1." in one(page, "#found").text


def test_known_divergences_have_their_reason_and_link(opened: Any, small_report: str) -> None:
    page = opened(small_report, "#ALIAS-02.1")
    shows(page, "ALIAS-02.1")
    note = one(page, ".note.is-known")
    assert "NumPy has no negative strides here" in note.text
    assert note.find_element("css selector", "a").get_attribute("href") == "https://example.org/7"


def test_what_was_not_compared_says_why(opened: Any, small_report: str) -> None:
    page = opened(small_report, "#fuzz/9f3c2a")
    shows(page, "fuzz/9f3c2a")
    assert "the backend died: signal 11" in one(page, ".note.is-error").text
    assert {level.text.split("\n")[1] for level in all_of(page, ".levels li")} == {"· not compared"}


def test_failed_comments_of_the_specification_are_shown(opened: Any, small_report: str) -> None:
    page = opened(small_report, "#INPLACE-02.1")
    shows(page, "INPLACE-02.1")
    cells = texts(page, ".divergences td")
    assert cells == ["line 5", "tensor([3., 3., 3.])", "tensor([2., 2., 2.])"]


def test_an_interrupted_run_says_so(opened: Any, tmp_path: Path) -> None:
    page = opened(report(tmp_path, made_runs.small()[:5], interrupted=True, programs=99))
    assert one(page, "h1").text.startswith("Interrupted after 5 of 99 programs")


def test_an_empty_run_opens(opened: Any, tmp_path: Path) -> None:
    page = opened(report(tmp_path, []))
    assert one(page, "h1").text.startswith("Nothing of impl")
    assert "No program matches" in one(page, "#groups").text
