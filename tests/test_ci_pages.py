"""Output for a CI: JUnit XML and a page of Markdown, safe against any backend's texts."""

from __future__ import annotations

import re
from xml.etree import ElementTree

import made_runs
import pytest
from markdown_it import MarkdownIt

from conformance.output import junit, markdown
from conformance.run_files.reading import read_run
from conformance.settings.settings import Settings

SETTINGS = Settings(backend="my.port:torch")


def run(folder, lines, **options):
    return read_run(made_runs.run_file(folder / "run.jsonl", lines, **options))


def written(folder, lines, **options) -> ElementTree.Element:
    junit.write(run(folder, lines, **options), folder / "run.xml", SETTINGS)
    return ElementTree.parse(folder / "run.xml").getroot()


def cases(root: ElementTree.Element) -> dict[str, ElementTree.Element]:
    return {case.get("name", ""): case for case in root.iter("testcase")}


def test_junit_has_the_structure_that_readers_expect(tmp_path):
    lines = made_runs.small()
    root = written(tmp_path, lines)
    assert root.tag == "testsuites"
    assert {child.tag for child in root} == {"testsuite"}
    for suite in root:
        assert {child.tag for child in suite} <= {"testcase"}
        assert suite.get("timestamp") == "2026-03-04T10:00:00+00:00"
        for case in suite:
            assert case.get("classname") and case.get("name")
            assert float(case.get("time")) >= 0
            # Another version of torch is told of, and is no kind of failure.
            told = [one for one in case if one.tag != "system-out"]
            assert len(case) <= 1 and {one.tag for one in told} <= set(junit._KINDS)
            assert all(one.get("message") and one.get("type") for one in told)
    assert [suite.get("name") for suite in root] == [
        *dict.fromkeys(line["area"] for line in lines),
        "the run itself",
    ]


def test_junit_counts_what_it_has(tmp_path):
    root = written(tmp_path, made_runs.small())
    for element in (root, *root):
        found = list(element.iter("testcase"))
        assert int(element.get("tests")) == len(found)
        for kind, name in (("failure", "failures"), ("error", "errors"), ("skipped", "skipped")):
            assert int(element.get(name)) == sum(case.find(kind) is not None for case in found)


@pytest.mark.parametrize(
    ("line", "kind"),
    [
        (made_runs.line("A.1", "leaves"), None),
        (made_runs.diverging("A.1", "leaves"), "failure"),
        (made_runs.diverging("A.1", "leaves", known={"reason": "so", "link": None}), "skipped"),
        (
            made_runs.line("A.1", "leaves", known={"reason": "so", "link": None, "stale": True}),
            "failure",
        ),
        (made_runs.uncompared("A.1", "leaves", "unsupported", "no ones"), "skipped"),
        (made_runs.uncompared("A.1", "leaves", "not_run", "no device"), "skipped"),
        (made_runs.uncompared("A.1", "leaves", "error", "it died"), "error"),
    ],
)
def test_junit_of_each_outcome(tmp_path, line, kind):
    case = cases(written(tmp_path, [line]))["A.1"]
    assert [one.tag for one in case] == ([kind] if kind else [])
    if kind in ("failure", "error"):
        assert "conform show A.1 --backend my.port:torch" in case[0].text


def test_junit_of_an_interrupted_run_is_not_green(tmp_path):
    root = written(tmp_path, [made_runs.line("A.1", "leaves")], interrupted=True, programs=9)
    assert root.get("errors") == "1"
    (error,) = root.iter("error")
    assert error.get("message") == "interrupted: 1 of 9 programs judged"


def test_junit_of_a_known_divergence_that_is_gone(tmp_path):
    gone = "LEAF-01 conforms at level memory: remove the entry"
    root = written(tmp_path, [made_runs.line("A.1", "leaves")], stale=(gone,))
    assert [failure.get("message") for failure in root.iter("failure")] == [gone]


def test_junit_survives_what_a_backend_says(tmp_path):
    lines = [
        made_runs.hostile(),
        made_runs.uncompared("SEED-67.1", "seeds", "error", made_runs.HOSTILE + "\r\x85\uffff"),
    ]
    root = written(tmp_path, lines)
    text = (tmp_path / "run.xml").read_text("utf-8")
    assert re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]", text) is None
    assert "<script>" not in text
    assert "</script>" in cases(root)["SEED-67.1"][0].text


def page(folder, lines, **options) -> str:
    return markdown.page(run(folder, lines, **options), SETTINGS)


def html(text: str) -> str:
    return MarkdownIt("commonmark", {"html": True}).enable("table").render(text)


def test_summary_has_totals_a_table_and_what_failed(tmp_path):
    text = page(tmp_path, made_runs.small())
    assert text.startswith("## ")
    assert "programs diverge" in text.splitlines()[0]
    shown = html(text)
    for level in made_runs.LEVELS:
        assert f">{level}</th>" in shown
    assert "<td>seeds</td>" in shown
    assert "conform show TIES-02.1 --backend my.port:torch --oracle torch" in text
    assert made_runs.SENTENCES["ties"] in text
    assert "### Not compared: unsupported" in text


def test_summary_of_a_run_that_conforms(tmp_path):
    text = page(tmp_path, [made_runs.line("LEAF-01.1", "leaves")])
    assert text.startswith("## Everything conforms\n")
    assert "\n1 conform\n" in text
    assert "| leaves | 1 | 1 | 1 | 1 | 1 |  |" in text


def test_summary_counts_known_divergences_apart(tmp_path):
    known = {"reason": "so", "link": None}
    lines = [made_runs.diverging("TIES-01.1", "ties", known=known)]
    assert "| ties | 1 | 1 known, 0 conform |" in page(tmp_path, lines)
    lines += [made_runs.diverging("TIES-02.1", "ties"), made_runs.line("TIES-03.1", "ties")]
    assert "| ties | 3 | **1 diverge**, 1 known, 1 conform |" in page(tmp_path, lines)


def test_summary_of_an_interrupted_run_says_so(tmp_path):
    text = page(tmp_path, [made_runs.line("LEAF-01.1", "leaves")], interrupted=True, programs=9)
    assert text.startswith("## Interrupted: 1 of 9 programs judged\n")


def test_summary_is_short_however_much_fails(tmp_path):
    lines = [made_runs.diverging(f"TIES-01.{number}", "ties") for number in range(1000)]
    for number, line in enumerate(lines):
        line["divergences"]["values"]["field"] = f"field{chr(97 + number % 26)}"
    text = page(tmp_path, lines)
    assert len(text) < 20_000
    assert "### 26 causes" in text
    assert "… and 16 more causes of " in text


def test_summary_survives_what_a_backend_says(tmp_path):
    said = made_runs.HOSTILE + "```\n# head | `` [a](javascript:x) **b** &lt;"
    lines = [
        made_runs.hostile(),
        made_runs.diverging("TIES-01.1", "ties", rule="TIES-01", sentence=said),
        made_runs.uncompared("SEED-67.1", "seeds", "error", said),
        made_runs.line(said, said, rule=said, outcome="diverges"),
    ]
    shown = html(page(tmp_path, lines, stale=(said,)))
    tags = set(re.findall(r"<(\w+)", shown))
    assert tags <= {
        *("h2", "h3", "h4", "p", "ul", "li", "code", "pre"),
        *("table", "thead", "tbody", "tr", "th", "td", "strong"),
    }
    assert shown.count("<h2>") == 1
    markdown.write(run(tmp_path, lines), tmp_path / "s.md", SETTINGS)
    assert (tmp_path / "s.md").read_bytes()


def test_same_run_same_bytes(tmp_path):
    made = run(tmp_path, made_runs.small())
    for write, name in ((junit.write, "x"), (markdown.write, "m")):
        for copy in "ab":
            write(made, tmp_path / (name + copy), SETTINGS)
        assert (tmp_path / f"{name}a").read_bytes() == (tmp_path / f"{name}b").read_bytes()
