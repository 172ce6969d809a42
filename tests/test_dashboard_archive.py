"""The runs that a dashboard reads: histories, damaged files, and the store."""

from __future__ import annotations

import gzip
import html
import importlib.util
import shutil
from pathlib import Path
from typing import Any

import made_archive
import made_runs
import pytest
from command import conform, started
from made_archive import archive, backend, flipping, run
from made_dashboard import built, files, history, read, text

from reports.dashboard.archive import ArchiveError, read_archive
from reports.dashboard.overview import current
from reports.dashboard.store import Store


def test_histories_hold_changes_only(tmp_path: Path) -> None:
    ledger, _ = read(archive(tmp_path / "runs"), tmp_path)
    assert history(ledger, "TIES-02.1") == [(0, "conforms"), (2, "diverges"), (4, "conforms")]
    assert history(ledger, "TIES-02.2") == [(0, "conforms"), (3, "unsupported"), (4, "conforms")]
    assert history(ledger, "TIES-02.5") == [(1, "conforms"), (4, None)]
    assert ledger.field(ledger.entries["TIES-02.1"], "rules") == "TIES-02"


def test_an_interrupted_run_is_shown_but_speaks_for_nothing(tmp_path: Path) -> None:
    ledger, made = read(archive(tmp_path / "runs"), tmp_path)
    impl = next(one for one in made if one.name == "impl (cpu)")
    state = current(impl, ledger)
    assert state.runs["ties"].id == "run003"
    (step,) = state.steps
    assert (step.before.id, step.after.id) == ("run002", "run003")
    site = built(tmp_path / "runs", tmp_path)
    assert "interrupted" in text(site, "backend-impl-cpu.html")


def test_a_run_is_listed_by_its_label(tmp_path: Path) -> None:
    for number, label in enumerate(("c0ffee", "<b>" + "x" * 99)):
        run(tmp_path / "runs", number, [made_runs.line("TIES-01.1", "ties")], label=label)
    site = built(tmp_path / "runs", tmp_path)
    assert "2026-01-02 10:00, <b>xxx" in html.unescape(text(site))
    listed = html.unescape(text(site, "backend-impl-cpu.html"))
    assert "run000 c0ffee" in listed and "x" * 36 + "…" in listed and "x" * 40 not in listed
    assert "<b>xxx" not in (site / "index.html").read_text("utf-8")


def test_a_run_of_a_selection_is_compared_with_its_like_only(tmp_path: Path) -> None:
    lines = [made_runs.line("TIES-01.1", "ties"), made_runs.line("SEED-01.1", "seeds")]
    rule = {**made_archive.SELECTION, "rules": ["TIES-01"]}
    area = {**made_archive.SELECTION, "areas": ["seeds"]}
    run(tmp_path / "runs", 0, lines)
    run(tmp_path / "runs", 1, [made_runs.diverging("TIES-01.1", "ties")], selection=rule)
    run(tmp_path / "runs", 2, [made_runs.diverging("SEED-01.1", "seeds")], selection=area)
    ledger, (configuration,) = read(tmp_path / "runs", tmp_path)
    state = current(configuration, ledger)
    assert {area: run.id for area, run in state.runs.items()} == {
        "ties": "run000",  # the run of a rule is not selected for its area
        "seeds": "run002",
    }
    assert [step.changes for step in state.steps] == [None, None]
    assert state.total.categories["diverges"] == 1


@pytest.mark.parametrize(
    ("outcomes", "changes"),
    [
        ("......", None),
        ("...xxx", None),
        ("..x...", 2),
        (".x.x.x", 5),
        ("..e...", 2),
        ("..o...", None),
        ("..o.ox", None),
        ("xxx.ox", 2),
    ],
)
def test_flaky_is_what_comes_back_while_no_version_changes(
    outcomes: str, changes: int | None, tmp_path: Path
) -> None:
    for number, line in enumerate(flipping(outcomes)):
        run(tmp_path / "runs", number, [line, made_runs.line("SEED-01.2", "seeds")])
    ledger, (configuration,) = read(tmp_path / "runs", tmp_path)
    found = ledger.flaky(configuration.series[0])
    assert [one.changes for one in found] == ([] if changes is None else [changes])


def test_a_change_that_comes_with_a_version_is_not_flaky(tmp_path: Path) -> None:
    for number, line in enumerate(flipping("..xx..")):
        run(tmp_path / "runs", number, [line], backend=backend(version=f"0.{number // 2}"))
    ledger, (configuration,) = read(tmp_path / "runs", tmp_path)
    assert ledger.flaky(configuration.series[0]) == []
    assert len(configuration.versions) == 3


def test_damaged_files_cost_only_themselves(tmp_path: Path) -> None:
    whole = archive(tmp_path / "whole")
    folder = tmp_path / "runs"
    shutil.copytree(whole, folder)
    content = (folder / "run003.jsonl").read_bytes()
    (folder / "cut.jsonl").write_bytes(content[:-2000])
    (folder / "cut.jsonl.gz").write_bytes(gzip.compress(content)[:-20])
    (folder / "rubbish.jsonl.gz").write_bytes(b"\x1f\x8b rubbish")
    (folder / "empty.jsonl").write_bytes(b"")
    (folder / "twice.jsonl").write_bytes(content)
    (folder / "notes.txt").write_text("not a run, and not said to be one")
    done = conform("dashboard", folder, tmp_path / "site", "--cache", tmp_path / "c", cwd=tmp_path)
    assert done.returncode == 3, done.stderr
    assert "6 runs; 5 left out" in done.stdout
    page = text(tmp_path / "site")
    for name in ("cut.jsonl", "cut.jsonl.gz", "rubbish.jsonl.gz", "empty.jsonl", "twice.jsonl"):
        assert f"{name}: " in done.stderr and name in page
    assert "notes.txt" not in done.stderr + page
    assert "line " in next(row for row in done.stderr.splitlines() if "cut.jsonl:" in row)
    clean = files(built(whole, tmp_path, "clean"))
    found = files(tmp_path / "site")
    assert {name for name in clean if found[name] != clean[name]} == {"index.html"}


@pytest.mark.parametrize("made", [False, True])
def test_no_runs_is_said_plainly(made: bool, tmp_path: Path) -> None:
    if made:
        (tmp_path / "runs").mkdir()
    done = conform("dashboard", "runs", "site", "--cache", "store", cwd=tmp_path)
    assert done.returncode == 2
    assert done.stderr.startswith("conform: runs: no ")
    assert not (tmp_path / "site").exists()


def test_where_nothing_can_be_read_there_is_no_site(tmp_path: Path) -> None:
    (tmp_path / "runs").mkdir()
    (tmp_path / "runs" / "a.jsonl").write_text("{}\n")
    done = conform("dashboard", "runs", "site", "--cache", "store", cwd=tmp_path)
    assert done.returncode == 3
    assert "a.jsonl" in done.stderr and "no run is left" in done.stderr


def test_gzipped_runs_are_the_same_runs(tmp_path: Path) -> None:
    plain = archive(tmp_path / "plain")
    packed = tmp_path / "packed"
    packed.mkdir()
    for file in plain.iterdir():
        (packed / f"{file.name}.gz").write_bytes(gzip.compress(file.read_bytes()))
    one, other = (files(built(folder, tmp_path, folder.name)) for folder in (plain, packed))
    one, other = ({name for name in site if name.startswith("data/")} for site in (one, other))
    assert {name for name in one if "history" in name} == {n for n in other if "history" in n}


def test_what_the_store_has_is_not_read_again(tmp_path: Path, monkeypatch: Any) -> None:
    folder = archive(tmp_path / "runs")
    first = files(built(folder, tmp_path))

    def unexpected(*_: Any) -> str:
        raise AssertionError("a run file was read again")

    monkeypatch.setattr("reports.dashboard.archive.digest", unexpected)
    assert files(built(folder, tmp_path)) == first
    shutil.copytree(folder, tmp_path / "elsewhere")  # the same content in another place
    assert files(built(tmp_path / "elsewhere", tmp_path)) == first


def test_builds_at_once_do_not_contend(tmp_path: Path) -> None:
    folder = archive(tmp_path / "runs")
    options = ("dashboard", folder, "site", "--cache", "c")
    builds = [started(*options, cwd=tmp_path) for _ in range(3)]
    assert [build.wait(timeout=180) for build in builds] == [0, 0, 0]
    assert files(tmp_path / "site") == files(built(folder, tmp_path, "alone"))


def test_a_damaged_store_is_made_again(tmp_path: Path) -> None:
    folder = archive(tmp_path / "runs")
    first = files(built(folder, tmp_path))
    kept = sorted((tmp_path / "store").rglob("*.json.gz"))
    assert len(kept) > 5
    for number, path in enumerate(kept):
        path.write_bytes(path.read_bytes()[:20] if number % 2 else b"rubbish")
    assert files(built(folder, tmp_path)) == first
    (tmp_path / "store" / "index.json").write_text("[1]")
    assert files(built(folder, tmp_path)) == first


def test_a_folder_without_runs_is_an_error_of_its_own(tmp_path: Path) -> None:
    with pytest.raises(ArchiveError, match="no such directory"):
        read_archive(tmp_path / "none", Store(tmp_path / "store"))


def test_the_benchmarks_runs_are_runs_and_some_programs_change(tmp_path: Path) -> None:
    benchmark = load_benchmark()
    lines = made_runs.many(250)
    (tmp_path / "runs").mkdir()
    assert len(list(benchmark.archive(tmp_path / "runs", lines, 12))) == 12
    archived = read_archive(tmp_path / "runs", Store(tmp_path / "store"))
    assert (len(archived.runs), archived.problems) == (12, [])
    ledger, made = read(tmp_path / "runs", tmp_path)
    assert len(made) == 4 and len(ledger.entries) == 250
    lengths = {len(h) for entry in ledger.entries.values() for h in entry.histories.values()}
    assert 1 in lengths and max(lengths) > 1


def load_benchmark() -> Any:
    file = Path(__file__).parents[1] / "benchmarks" / "dashboard.py"
    spec = importlib.util.spec_from_file_location("dashboard_benchmark", file)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
