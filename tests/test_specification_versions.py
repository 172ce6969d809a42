"""The specification's site through the versions of torch: strips, notes, and version pages."""

from __future__ import annotations

from pathlib import Path

import made_history
import made_runs
import pytest
from made_site import run_of, text

from conformance.base.levels import LEVELS
from conformance.execution.history import History
from conformance.history.steps import Step, steps
from conformance.suite.chapters import Chapter
from reports.specification.prose import Prose
from reports.specification.site import build
from reports.specification.versions import neighbours, shifts, strip


@pytest.fixture
def chapters(tmp_path: Path) -> list[Chapter]:
    return made_history.chapters(tmp_path)


@pytest.fixture
def past(tmp_path: Path, chapters: list[Chapter]) -> History:
    return made_history.history(tmp_path, chapters)


@pytest.fixture
def made(chapters: list[Chapter], past: History) -> list[Step]:
    return steps(chapters, past)


@pytest.fixture
def site(tmp_path: Path, chapters: list[Chapter], past: History) -> Path:
    assert build(chapters, past.view("2.15"), [], tmp_path / "site") == []
    return tmp_path / "site"


def test_the_steps_count_programs_and_put_rules_at_their_first_level(made: list[Step]) -> None:
    newest, older = made
    assert (newest.version, newest.before, newest.release) == ("2.15", "2.14", "2.15.1")
    assert [one.rule.id for one in newest.rules] == ["MOVE-03"]
    assert newest.counts == {"values": 1} and newest.at("values") == newest.rules
    assert older.counts == {"values": 2, "diagnostics": 1, "new": 1}
    placed = {
        place: [one.rule.id for one in older.at(place)]
        for place in ("values", "diagnostics", "new")
    }
    assert placed == {
        "values": ["MOVE-01", "MOVE-03"],
        "diagnostics": ["KEPT-02"],
        "new": ["MOVE-02"],
    }
    notes = {one.rule.id: one.text for one in older.rules}
    assert notes["MOVE-01"] == "It is *two*; before, it was `one`."
    assert notes["MOVE-03"] == newest.rules[0].text == "It was zero in 2.14 alone."
    assert (notes["MOVE-02"], notes["KEPT-02"]) == ("New.", "")


def test_a_strip_compares_each_version_with_the_newest(
    chapters: list[Chapter], past: History, made: list[Step]
) -> None:
    found = {
        rule.id: strip(
            rule, past, [one for step in made for one in step.rules if one.rule.id == rule.id]
        )
        for chapter in chapters
        for rule in chapter.rules
    }
    cells = {name: [cell.status for cell in one.cells] for name, one in found.items()}
    assert [cell.version for cell in found["KEPT-01"].cells] == ["2.13", "2.14", "2.15"]
    assert cells == {
        "KEPT-01": ["same", "same", "same"],
        "KEPT-02": ["texts", "same", "same"],
        "MOVE-01": ["differs", "same", "same"],
        "MOVE-02": ["gone", "same", "same"],
        "MOVE-03": ["same", "differs", "same"],
    }
    assert found["KEPT-01"].is_constant and not found["KEPT-02"].is_constant
    assert found["MOVE-01"].cells[0].text == "MOVE-01.1 differs at values"
    assert found["MOVE-02"].cells[0].text == "MOVE-02.1 lacks torch.name"
    assert found["MOVE-03"].spoken == "as the newest in 2.13, 2.15; differs in 2.14"
    assert [moment.version for moment in found["MOVE-03"].moments] == ["2.15", "2.14"]
    (shift,) = found["MOVE-01"].moments[0].shifts
    assert (shift.level, shift.before, shift.after) == ("values", "1", "2")


def test_a_shift_is_the_first_difference_at_the_levels_asked_for(made: list[Step]) -> None:
    (worded,) = made[1].at("diagnostics")
    assert list(shifts(worded.changes, ("values", "graph"))) == []
    (shift,) = shifts(worded.changes)
    assert (shift.before, shift.where) == ("old", "diagnostics, line 2, error message")
    (new,) = shifts(made[1].at("new")[0].changes, ("values",))
    assert (new.before, new.after, new.level) == ("not there", "there", "new")


def test_a_page_of_a_version_has_the_note_and_both_values(site: Path) -> None:
    page = text(site, "torch-2.14.html")
    assert "Changes in autograd in 2.14" in page
    assert "torch 2.14.1, compared with 2.13" in page
    assert "2 programs at values, 1 program at diagnostics, 1 program new." in page
    assert page.index("Values 2 rules") < page.index("New names 1 rule")
    assert "It is two ; before, it was one ." in page
    assert "MOVE-01.1 values, line 2, n.value: 1 became 2" in page
    markup = (site / "torch-2.14.html").read_text("utf-8")
    assert '<a class="anchor" href="moved.html#MOVE-01">MOVE-01</a>' in markup
    assert '<li class="marked as-other">' in markup
    assert "MOVE-01.2" not in page
    assert "Diagnostics 1 rule of which only texts" in page


def test_the_pages_of_versions_are_linked_in_their_order(made: list[Step], site: Path) -> None:
    assert neighbours(made) == {"2.15": ("2.14", None), "2.14": (None, "2.15")}
    older, newer = (site / f"torch-2.{n}.html" for n in (14, 15))
    assert '<a rel="next" href="torch-2.15.html">' in older.read_text("utf-8")
    assert '<a rel="prev" href="torch-2.14.html">' in newer.read_text("utf-8")
    index = text(site, "torch.html")
    assert "of 6 programs of rules" in index
    assert "2.13 to 2.14 2.14.1 4 2 · · 1 1 ·" in index
    assert 'href="torch-2.14.html"' in (site / "torch.html").read_text("utf-8")
    for page in ("index.html", "moved.html", "checklist.html"):
        assert '<a href="torch.html">' in (site / page).read_text("utf-8")


def test_a_rule_shows_its_strip_and_its_note(site: Path) -> None:
    markup = (site / "moved.html").read_text("utf-8")
    assert '<em class="version-note">Changed in <a href="torch-2.14.html">2.14</a>:</em>' in markup
    assert "KEPT-01</a>. <em" in markup
    assert markup.count('<details class="strip fold">') == 3
    assert 'aria-label="MOVE-01 as the newest in 2.14 to 2.15; differs in 2.13"' in markup
    assert '<a href="torch-2.14.html#MOVE-01">Since 2.14</a>' in markup
    kept = text(site, "kept.html")
    assert "= 2.13 to 2.15 the same in every version of torch" in kept
    assert "style=" not in markup


def test_texts_of_a_version_are_never_markup(site: Path) -> None:
    for page in ("kept.html", "torch-2.14.html"):
        markup = (site / page).read_text("utf-8")
        assert "&lt;script&gt;window.hacked" in markup
        assert "<script>window.hacked" not in markup and "\u202e" not in markup
        assert "script-src &#39;sha256-" in markup
        assert 'href="http' not in markup and "src=" not in markup.partition("<body")[2]


def test_notes_are_found_in_prose_and_nothing_else_is(site: Path) -> None:
    prose = Prose({}, {}, {"2.4": "torch-2.4.html", "2.6": "torch-2.6.html"})
    found = prose.markup("*New in 2.4.* *Changed in 2.4, 2.5 and 2.6:* x. *Changed in spring:* y.")
    assert found.count('class="version-note"') == 2
    assert found.count('<a href="torch-2.4.html">2.4</a>') == 2
    assert "2.5 and <a" in found and "<em>Changed in spring:</em>" in found
    assert prose.markup("*all of it* in 2.4") == "<p><em>all of it</em> in 2.4</p>\n"


def test_a_claim_names_every_version_that_the_run_supports(
    tmp_path: Path, chapters: list[Chapter], past: History
) -> None:
    run = run_of(tmp_path, chapters)
    run.header["oracle"] = {"name": "recorded:torch-2.15", "version": "2.15.1", "device": "cpu"}
    build(chapters, past.view("2.15"), [run], tmp_path / "site")
    found = text(tmp_path / "site", "index.html")
    assert "values, torch 2.15" in found and "values, torch 2.15;" not in found.partition("May")[2]
    assert "graph and memory, torch 2.15; also 2.13 to 2.14" in found
    assert "diagnostics, torch 2.15; also 2.14" in found
    assert "“values, torch 2.15; also 2.14”" in found
    assert "--oracle recorded:torch-2.15" in found


def test_another_version_keeps_a_level_from_being_claimed_for_the_oracle(
    tmp_path: Path, chapters: list[Chapter], past: History
) -> None:
    other = made_runs.other_version("x", "moved", ["2.13"])
    over = {name: other[name] for name in ("outcome", "levels", "divergences", "got", "versions")}
    run = run_of(tmp_path, chapters, **{"MOVE-01.1": over})
    run.header["oracle"] = {"name": "torch", "version": "2.15.1", "device": "cpu"}
    build(chapters, past.view("2.15"), [run], tmp_path / "site")
    index, page = (text(tmp_path / "site", name) for name in ("index.html", "moved.html"))
    assert "conforms in 5 programs; 1 as another version of torch" in index
    assert "⇄ other version" in page and "as torch 2.13" in page
    assert set(over["levels"]) == set(LEVELS)
