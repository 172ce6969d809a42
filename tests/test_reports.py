"""The report of a run, without a browser: its contents."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import jsonschema
import made_runs
import pytest
from html_page import Page

from conformance.base.levels import LEVELS
from conformance.run_files.reading import read_run
from conformance.run_files.run import Run, schema
from reports.attention import attention
from reports.conventions import conventions
from reports.payload import LEVEL_CODES
from reports.run import ReportError, page, write
from reports.summary import summary
from reports.text import brief, brief_pair, visible
from reports.versions import groups


def test_the_made_runs_meet_the_published_schema(tmp_path: Path) -> None:
    validator = jsonschema.Draft202012Validator(schema())
    path = made_runs.run_file(tmp_path / "run.jsonl", [*made_runs.small(), *made_runs.many(50)])
    for text in path.read_text("utf-8").splitlines():
        validator.validate(json.loads(text))


CONFORMS = [made_runs.line("LEAF-01.1", "leaves"), made_runs.line("LEAF-01.2", "leaves")]
DIVERGES = made_runs.diverging("TIES-01.1", "ties")
KNOWN = made_runs.diverging("TIES-01.2", "ties", known={"reason": "because", "link": None})
MISSING = made_runs.uncompared("op/a", "operators", "unsupported", "no such name")
OTHER = made_runs.other_version("TIES-37.1", "ties", ["2.13", "2.12"])
FAILED = made_runs.line(
    "SEED-01.1",
    "seeds",
    outcome="diverges",
    specification=[{"line": 5, "expected": "1", "got": "2"}],
)
WHO = "impl 0.1.0 (cpu)", "torch 2.13.0 (cpu)"


@pytest.mark.parametrize(
    ("lines", "how", "status", "text"),
    [
        (CONFORMS, {}, "conforms", f"{WHO[0]} conforms to {WHO[1]} at all four levels"),
        (
            [*CONFORMS, KNOWN],
            {},
            "conforms",
            f"{WHO[0]} conforms to {WHO[1]} at all four levels, but for 1 known divergence",
        ),
        (
            [*CONFORMS, KNOWN, DIVERGES, MISSING],
            {},
            "diverges",
            f"{WHO[0]} diverges from {WHO[1]} in 1 of 4 programs",
        ),
        (
            [*CONFORMS, MISSING],
            {},
            "incomplete",
            f"{WHO[0]} conforms to {WHO[1]} in what was compared; 1 program could not be",
        ),
        (
            [*CONFORMS, KNOWN, OTHER],
            {},
            "other_version",
            f"{WHO[0]} conforms to {WHO[1]} at all four levels, but for 1 known divergence and "
            "1 program as another version of torch",
        ),
        ([OTHER], {}, "other_version", f"{WHO[0]} shows another version of torch than {WHO[1]}"),
        (
            [*CONFORMS, DIVERGES, OTHER],
            {},
            "diverges",
            f"{WHO[0]} diverges from {WHO[1]} in 1 of 4 programs",
        ),
        (
            [*CONFORMS, FAILED],
            {},
            "diverges",
            f"{WHO[1]} does not meet the specification in 1 program",
        ),
        ([MISSING], {}, "incomplete", f"Nothing of {WHO[0]} was compared with {WHO[1]}"),
        ([], {}, "incomplete", f"Nothing of {WHO[0]} was compared with {WHO[1]}"),
        (
            CONFORMS,
            {"interrupted": True, "programs": 2310},
            "interrupted",
            "Interrupted after 2 of 2,310 programs: "
            f"no divergence of {WHO[0]} from {WHO[1]} so far",
        ),
        (
            [*CONFORMS, DIVERGES],
            {"interrupted": True, "programs": 2310},
            "interrupted",
            f"Interrupted after 3 of 2,310 programs: {WHO[0]} diverges from {WHO[1]} "
            "in 1 of the 3 compared",
        ),
        (
            [made_runs.line("LEAF-01.1", "leaves", levels={"values": "conforms"})],
            {"selection": {"levels": ["values"]}},
            "conforms",
            f"{WHO[0]} conforms to {WHO[1]} at level values",
        ),
    ],
)
def test_the_headline_says_the_verdict_in_words(
    lines: list[dict[str, Any]], how: dict[str, Any], status: str, text: str, tmp_path: Path
) -> None:
    run = made_runs.read(tmp_path / "run.jsonl", lines, **how)
    found = summary(run).headline
    assert (found.status, found.text) == (status, text)
    shown = Page(page(run))
    assert text in shown.text


def test_stale_known_divergences_are_told(tmp_path: Path) -> None:
    run = made_runs.read(tmp_path / "run.jsonl", CONFORMS, stale=("TIES-09, level values",))
    assert "1 known divergence is gone." in summary(run).headline.detail
    assert "TIES-09, level values" in Page(page(run)).text


def test_the_matrix_counts_uncompared_programs_at_no_level(small_run: Run) -> None:
    found = summary(small_run)
    compared = sum(
        found.categories[kind]
        for kind in ("diverges", "specification", "known", "other_version", "conforms")
    )
    for level in LEVELS:
        assert sum(found.total.levels[level].values()) == compared == 16
    assert found.total.levels["memory"]["diverges"] == 1
    assert found.total.levels["memory"]["known"] == 1
    assert found.total.levels["memory"]["not_applicable"] == 1
    uncompared = {kind: found.categories[kind] for kind in ("unsupported", "error", "not_run")}
    assert uncompared == {"unsupported": 1, "error": 1, "not_run": 1}
    assert sum(row.programs for row in found.rows) == found.total.programs == 19


def test_a_harness_that_marks_uncompared_programs_not_applicable_changes_no_count(
    tmp_path: Path,
) -> None:
    marked = {**MISSING, "levels": dict.fromkeys(LEVELS, "not_applicable")}
    found = summary(made_runs.read(tmp_path / "run.jsonl", [*CONFORMS, marked]))
    assert found.total.levels["values"] == {"conforms": 2}
    assert found.total.categories["unsupported"] == 1


def test_other_versions_are_counted_apart_and_grouped(small_run: Run) -> None:
    found = summary(small_run)
    assert found.categories["other_version"] == 3
    assert found.total.levels["values"]["other_version"] == 2
    assert "In 3 programs it shows another version of torch." in found.headline.detail
    made = groups(small_run.programs)
    assert [(group.versions, len(group.programs)) for group in made] == [
        ("2.12 to 2.13", 2),
        ("2.14", 1),
    ]
    assert made[0].levels == {"values": 2} and made[1].levels == {"memory": 1}
    shown = " ".join(Page(page(small_run)).text.split())
    assert "As torch 2.12 to 2.13: 2 programs" in shown
    reasons = {item.id: item.reason for item in attention(small_run.programs)}
    assert reasons["TIES-37.1"] == "as torch 2.12 to 2.13"
    assert reasons["SEED-05.1"] == "as torch 2.14"


def test_every_verdict_at_a_level_has_its_code(small_run: Run) -> None:
    index = Page(page(small_run)).blobs()["index"]
    names = {code: verdict for verdict, code in LEVEL_CODES.items()}
    for line, code in zip(small_run.programs, index["verdicts"], strict=True):
        found = [names.get(code >> 3 * place & 7) for place in range(len(LEVELS))]
        assert found == [line["levels"].get(level) for level in LEVELS]


def test_changes_since_the_history_are_listed(tmp_path: Path) -> None:
    change = {"version": "2.15", "levels": ["values", "memory"]}
    run = made_runs.read(
        tmp_path / "run.jsonl", [*CONFORMS, made_runs.line("TIES-03.1", "ties", since=change)]
    )
    shown = " ".join(Page(page(run)).text.split())
    assert "What changed since torch 2.15" in shown
    assert "TIES-03.1 values, memory" in shown
    assert "What changed since" not in page(made_runs.read(tmp_path / "run.jsonl", CONFORMS))


def test_the_levels_that_a_run_supports_are_among_its_facts(tmp_path: Path) -> None:
    run = made_runs.read(tmp_path / "run.jsonl", CONFORMS)
    assert run.footer is not None
    claims = {"values": ["2.15"], "graph": ["2.14", "2.13", "2.15"]}
    claiming = replace(run, footer={**run.footer, "claims": claims})
    facts = dict(summary(claiming).facts)
    assert facts["Supports"] == (
        "values, torch 2.15 · graph, torch 2.15; also 2.13 to 2.14"
        " · memory and diagnostics, torch 2.13"
    )
    assert "Supports" not in dict(summary(replace(run, footer=None)).facts)


def test_versions_that_are_none_are_refused(tmp_path: Path) -> None:
    run = Run(made_runs.header(), [{**OTHER, "versions": ["<script>"]}], None)
    with pytest.raises(ReportError, match="'<script>' is no minor version of torch"):
        write(run, tmp_path / "report.html")


def test_a_convention_of_another_version_is_no_difference() -> None:
    def line(backend: str, **fields: Any) -> dict[str, Any]:
        shown = {"situation": "at 0", "oracle": "left", "backend": backend}
        usual = made_runs.line("convention/abs", "conventions", operator="abs")
        return {**usual, "convention": shown, **fields}

    other = {"outcome": "other_version", "versions": ["2.13"]}
    found = conventions([line("left"), line("mean", **other), line("right", outcome="diverges")])
    assert [one.backend for one in found] == ["right", "mean", "left"]
    assert [(one.differs, one.is_other) for one in found] == [
        (True, False),
        (False, True),
        (False, False),
    ]


def test_the_largest_error_is_that_of_conforming_values(small_run: Run) -> None:
    assert [(ulp.dtype, ulp.text, ulp.program) for ulp in summary(small_run).ulps] == [
        ("float64", "1", "op/exp/plain/float64")
    ]


def test_failures_come_first_and_known_divergences_and_other_versions_last(small_run: Run) -> None:
    kinds = [item.category for item in attention(small_run.programs)]
    assert kinds == [
        *["diverges"] * 6,
        "specification",
        "error",
        "unsupported",
        "not_run",
        *["known"] * 2,
        *["other_version"] * 3,
    ]
    first = attention(small_run.programs)[0]
    assert first.id == "TIES-02.1"
    assert first.where == "values, line 4, x.grad.values"
    assert (first.expected, first.got) == ("[2, 2, 2]", "[2, 0.1, 2]")


def test_of_a_long_value_the_first_differing_element_is_told() -> None:
    expected, got = [0.5] * 500, [0.5] * 500
    got[312] = 0.75
    made = made_runs.diverging("TIES-02.1", "ties")
    made["divergences"]["values"] |= {"expected": expected, "got": got, "index": 312}
    (item,) = attention([made])
    assert item.where == "values, line 4, x.grad.values[312]"
    assert (item.expected, item.got) == ("0.5", "0.75")


def test_warnings_are_told_as_python_prints_them() -> None:
    made = made_runs.diverging("LEAF-19.1", "leaves", "diagnostics")
    made["divergences"]["diagnostics"] |= {
        "name": None,
        "field": "warnings",
        "expected": [["UserWarning", "once"], ["FutureWarning", "twice"]],
        "got": [],
    }
    (item,) = attention([made])
    assert item.where == "diagnostics, line 3, warnings"
    assert (item.expected, item.got) == ("UserWarning: once; FutureWarning: twice", "no warning")


def test_a_run_with_a_doubled_program_is_refused(tmp_path: Path) -> None:
    run = Run(made_runs.header(), [CONFORMS[0], CONFORMS[0]], None)
    with pytest.raises(ReportError, match=r"program LEAF-01\.1 is in the run twice"):
        write(run, tmp_path / "report.html")
    assert not (tmp_path / "report.html").exists()


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ({"area": "ties"}, "program number 1 of the run has no ID"),
        ({**CONFORMS[0], "outcome": "perfect"}, "LEAF-01.1: unknown outcome 'perfect'"),
        ({"id": "LEAF-01.1", "outcome": "conforms"}, "a shape that the report does not know"),
    ],
)
def test_a_run_of_another_shape_is_refused(
    line: dict[str, Any], message: str, tmp_path: Path
) -> None:
    with pytest.raises(ReportError, match=message):
        write(Run(made_runs.header(), [line], None), tmp_path / "report.html")


def test_a_run_without_header_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ReportError, match='its header has no "run"'):
        write(Run({}, [], None), tmp_path / "report.html")


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain\n\ttext é 漢", "plain\n\ttext é 漢"),
        ("\x1b[31m\x00", "\\x1b[31m\\x00"),
        ("a\u202eb\u200b\ufeff", "a\\u202eb\\u200b\\ufeff"),
        ("\ud800", "\\ud800"),
    ],
)
def test_what_hides_or_reorders_text_is_written_out(text: str, shown: str) -> None:
    assert visible(text) == shown


def test_values_fit_on_a_line() -> None:
    assert brief({"kind": "tensor", "dtype": "float32", "shape": [2], "values": [0.1, "nan"]}) == (
        "float32[2] [0.1, nan]"
    )
    assert brief({"type": "RuntimeError", "message": "no\ngrad"}) == "RuntimeError: no⏎grad"
    cut = brief(list(range(1000)))
    assert len(cut) <= 80 and cut.endswith("…")
    assert brief_pair(1.0, 1.0000000000000002) == ("1", "1.0000000000000002")
    start = "the same words " * 20
    for text in brief_pair(start + "before it ends", start + "after", 60):
        assert text.startswith("…") and len(text) <= 60
        assert "before it ends" in text or "after" in text
    assert brief_pair("x" * 100, "y" * 100, 10) == ("xxxxxxxxx…", "yyyyyyyyy…")


def test_the_report_counts_the_names_of_the_backend(small_run: Run) -> None:
    assert "Public names" not in page(small_run)
    count = {"space": "torch.fft", "public": 25, "present": 3, "out_of_scope": 2}
    names = [{**count, "missing": ["<b>rfft", *(f"name{i}" for i in range(19))]}]
    backend = {**small_run.header["backend"], "names": names}
    shown = page(replace(small_run, header={**small_run.header, "backend": backend}))
    assert "3 of 25; 20 names are missing, 2 are out of scope" in shown
    assert "20 names are missing in <code>torch.fft</code>" in shown and "&lt;b&gt;rfft" in shown


def test_label_of_a_large_number_has_the_text_that_is_seen(tmp_path: Path) -> None:
    lines = [made_runs.line(f"LEAF-{n:04}.1", "leaves") for n in range(1234)]
    run = read_run(made_runs.run_file(tmp_path / "run.jsonl", lines))
    assert 'aria-label="leaves, values: 1,234 conforms"' in page(run)
