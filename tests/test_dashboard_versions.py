"""Versions on the dashboard: the axis, agreement over versions, and claims."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import made_runs
from made_archive import SELECTION, backend, run, versions_of_torch
from made_dashboard import built, read, text

from reports.dashboard.charts import agreement
from reports.dashboard.overview import current, version_states


def test_the_versions_of_torch_are_one_configuration_in_their_order(tmp_path: Path) -> None:
    _, (made,) = read(versions_of_torch(tmp_path / "runs"), tmp_path)
    assert made.name == "torch (cpu)"
    assert made.versions == [f"2.{minor}.1 / 2.15.0" for minor in (0, 9, 10, 15)]
    assert list(made.torch_versions().values()) == ["2.0", "2.9", "2.10", "2.15"]
    (series,) = made.series
    assert [one.digest.backend.name for one in series.runs] == [
        f"recorded:torch-2.{minor}" for minor in (0, 9, 10, 15)
    ]


def test_one_backend_against_the_versions_of_torch_has_them_on_an_axis(tmp_path: Path) -> None:
    for number, minor in enumerate((9, 15, 10)):
        oracle = backend(f"recorded:torch-2.{minor}", f"2.{minor}.0")
        run(tmp_path / "runs", number, [made_runs.line("LEAF-01.1", "leaves")], oracle=oracle)
    ledger, (made,) = read(tmp_path / "runs", tmp_path)
    assert list(made.torch_versions().values()) == ["2.9", "2.10", "2.15"]
    assert current(made, ledger).version == "0.1.0 / 2.15.0"
    run(tmp_path / "runs", 3, [], backend=backend(version="0.2.0"), oracle=oracle)
    assert read(tmp_path / "runs", tmp_path)[1][0].torch_versions() == {}


def test_the_axis_of_versions_has_few_labels_and_the_newest_among_them(tmp_path: Path) -> None:
    _, (made,) = read(versions_of_torch(tmp_path / "runs"), tmp_path)
    chart = agreement(version_states(made), made.torch_versions())
    assert [label for _, label in chart.ticks] == ["2.0", "2.9", "2.10", "2.15"]
    (values, *_) = chart.panels
    assert [point.text for point in values.points] == ["50.0 %", "50.0 %", "50.0 %", "100 %"]
    assert [x for x, _ in chart.ticks] == [point.x for point in values.points]
    page = (built(tmp_path / "runs", tmp_path) / "backend-torch-cpu.html").read_text("utf-8")
    assert page.count('<text class="tick"') == 16 and "by version of torch" in page
    names = [str(number) for number in range(16)]
    states = [replace(version_states(made)[0], version=name) for name in names]
    labels = [label for _, label in agreement(states, dict(zip(names, names, strict=True))).ticks]
    assert labels == ["0", "3", "6", "9", "12", "15"]


def test_another_version_counts_neither_as_conforming_nor_as_diverging(tmp_path: Path) -> None:
    folder = tmp_path / "runs"
    conforms = made_runs.line("TIES-37.1", "ties", rule="TIES-37")
    other = made_runs.other_version("TIES-37.1", "ties", ["2.13", "2.12"], rule="TIES-37")
    run(folder, 0, [made_runs.line("LEAF-01.1", "leaves"), conforms])
    run(folder, 1, [made_runs.line("LEAF-01.1", "leaves"), other])
    ledger, (made,) = read(folder, tmp_path)
    state = current(made, ledger)
    assert state.status == "other_version" and state.symbol == "⇄"
    assert state.verdict == "conforms in 1 of 2 programs, 1 as another version of torch"
    assert +state.moved == {"other_version": 1}
    site = built(folder, tmp_path)
    page = text(site)
    assert page.startswith("Nothing diverges impl 0.1.0 (cpu): conforms in 1 of 2 programs")
    assert "1 as another version of torch now" in page and "as torch 2.12 to 2.13" in page
    assert "50.0 %" in page
    assert "1 as another version" in (site / "badges/impl-cpu-values.svg").read_text("utf-8")
    assert "graph: conforms" in (site / "badges/impl-cpu-graph.svg").read_text("utf-8")


def test_a_badge_claims_a_level_for_the_versions_that_every_run_supports(tmp_path: Path) -> None:
    folder = tmp_path / "runs"
    claims = {"values": ["2.15", "2.14", "2.13"], "graph": ["2.15"]}
    run(folder, 0, [made_runs.line("LEAF-01.1", "leaves")], claims=claims)
    run(
        folder,
        1,
        [made_runs.line("TIES-01.1", "ties")],
        claims={"values": ["2.15", "2.13"]},
        selection={**SELECTION, "areas": ["ties"]},
    )
    site = built(folder, tmp_path)

    def said(level: str) -> str:
        return (site / f"badges/impl-cpu-{level}.svg").read_text("utf-8")

    assert "values, torch 2.15; also 2.13" in said("values")
    assert "graph: conforms" in said("graph")


def test_a_line_of_agreement_is_of_the_programs_that_all_its_versions_compared(
    tmp_path: Path,
) -> None:
    ids = [f"LEAF-0{n}.1" for n in range(1, 9)]
    good = {name: made_runs.line(name, "leaves") for name in ids}
    wrong = {name: made_runs.diverging(name, "leaves", "memory") for name in ids}
    selection = {"selection": SELECTION}
    few = [good[ids[0]], wrong[ids[1]]]
    most = [good[name] for name in ids[:5]] + [wrong[ids[5]]]
    every = [good[name] for name in ids[:7]] + [wrong[ids[7]]]
    for number, lines in enumerate((few, most, every)):
        version = {"backend": backend(version=f"0.{number}")}
        run(tmp_path / "runs", number, lines, **version, **selection)
    _, (made,) = read(tmp_path / "runs", tmp_path)
    chart = agreement(version_states(made), {})
    memory = chart.panels[2]
    assert [(p.conforms, p.compared, p.apart) for p in memory.points] == [
        (1, 2, True),
        (5, 6, False),
        (6, 6, False),
    ]
    assert memory.path.startswith("M140.0") and memory.path.count("L") == 1
