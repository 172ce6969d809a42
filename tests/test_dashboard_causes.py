"""Causes and the log on the dashboard."""

from __future__ import annotations

from pathlib import Path

import made_runs
from made_archive import regressing, run
from made_dashboard import built, read, text

from reports.dashboard.log import log
from reports.dashboard.overview import current


def test_changes_and_divergences_are_told_by_cause(tmp_path: Path) -> None:
    ledger, (made,) = read(regressing(tmp_path / "runs"), tmp_path)
    state = current(made, ledger)
    (group,) = state.causes
    assert len(group.ids) == 12
    assert group.areas == "ties 12"
    assert group.cause.shown.program == "TIES-02.1"
    (step,) = state.steps
    assert step.causes["diverges"] == []
    (mended,) = step.causes["conforms"]
    assert mended.ids == ["SEED-01.1"]
    page = text(built(tmp_path / "runs", tmp_path))
    assert "12 values a gradient has other values ties 12 TIES-02.1" in page
    assert "The first 8; all of run run002" in page


def test_a_new_cause_is_marked(tmp_path: Path) -> None:
    folder = regressing(tmp_path / "runs")
    (folder / "run002.jsonl").unlink()
    ledger, (made,) = read(folder, tmp_path)
    (step,) = current(made, ledger).steps
    assert [(len(one.ids), one.is_new) for one in step.causes["diverges"]] == [
        (12, True),
        (1, True),
    ]


def test_causes_that_contradict_most_comments_are_first_as_in_a_report(tmp_path: Path) -> None:
    ids = [f"TIES-02.{n}" for n in range(1, 4)]
    silent = [made_runs.diverging(name, "ties", "values", rule="TIES-02") for name in ids]
    silent = [{**line, "contradicted": []} for line in silent]
    speaking = made_runs.diverging("SEED-01.1", "seeds", "graph", rule="SEED-01")
    run(tmp_path / "runs", 1, [*silent, {**speaking, "contradicted": [4]}])
    ledger, (made,) = read(tmp_path / "runs", tmp_path)
    assert [group.ids for group in current(made, ledger).causes] == [["SEED-01.1"], ids]


def test_a_log_has_a_row_for_each_run_with_its_causes(tmp_path: Path) -> None:
    ledger, (made,) = read(regressing(tmp_path / "runs"), tmp_path)
    rows = log(made.series[0], ledger)
    assert [(row.worse, row.better, row.diverging) for row in rows] == [
        (0, 1, 12),
        (13, 0, 13),
        (None, None, 0),
    ]
    assert [(len(row.appeared), len(row.gone)) for row in rows] == [(0, 1), (2, 0), (0, 0)]
    assert [[cell and cell.kind for cell in row.cells] for row in rows] == [
        ["diverges", "conforms"],
        ["diverges", "diverges"],
        ["conforms", "conforms"],
    ]


def test_an_interrupted_run_neither_mends_nor_breaks_what_it_lacks(tmp_path: Path) -> None:
    folder = regressing(tmp_path / "runs")
    cut = [made_runs.diverging("TIES-02.1", "ties", "values", rule="TIES-02")]
    run(folder, 3, cut, interrupted=True, programs=13)
    wrong = [made_runs.diverging(f"TIES-02.{n}", "ties", rule="TIES-02") for n in range(1, 13)]
    run(folder, 4, [*wrong, made_runs.line("SEED-01.1", "seeds", rule="SEED-01")])
    ledger, (made,) = read(folder, tmp_path)
    assert [(row.worse, row.better) for row in log(made.series[0], ledger)][:2] == [(0, 0), (0, 0)]
