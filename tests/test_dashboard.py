"""The dashboard: the contents of its pages, and that they are a function of the run files."""

from __future__ import annotations

import gzip
import html
import importlib.util
import json
import re
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any
from xml.dom import minidom

import made_archive
import made_runs
import pytest
from command import conform, environment
from made_archive import SELECTION, archive, backend, flipping, run, versions_of_torch

from reports.dashboard.archive import ArchiveError, read_archive
from reports.dashboard.charts import agreement, percent
from reports.dashboard.ledger import ABSENT, Ledger, place
from reports.dashboard.log import log
from reports.dashboard.overview import current, version_states
from reports.dashboard.series import configurations
from reports.dashboard.site import build
from reports.dashboard.store import Store


def built(folder: Path, base: Path, name: str = "site") -> Path:
    build(folder, base / name, base / "store")
    return base / name


def files(site: Path) -> dict[str, bytes]:
    return {
        path.relative_to(site).as_posix(): path.read_bytes()
        for path in site.rglob("*")
        if path.is_file()
    }


def text(site: Path, page: str = "index.html") -> str:
    """A page's text without markup, with runs of blanks collapsed."""
    body = (site / page).read_text("utf-8").partition('tabindex="-1">')[2].partition("</main>")[0]
    return " ".join(re.sub(r"<[^>]*>", " ", body).split())


def read(folder: Path, base: Path) -> tuple[Ledger, list[Any]]:
    found = read_archive(folder, Store(base / "store"))
    made = configurations(found.runs)
    return Ledger(found, [series for one in made for series in one.series]), made


def history(ledger: Ledger, name: str, series: int = 0) -> list[tuple[int, str | None]]:
    return [
        (at, None if number == ABSENT else ledger.standings[number].category)
        for at, number in ledger.entries[name].histories[series]
    ]


def test_the_same_runs_give_the_same_bytes(tmp_path: Path) -> None:
    one = archive(tmp_path / "one")
    shutil.copytree(one, tmp_path / "other" / "deep")
    first = files(built(one, tmp_path, "site-1"))
    again = files(built(one, tmp_path, "site-2"))
    build(one, tmp_path / "site-3", tmp_path / "fresh-store", processes=2)
    assert first == again == files(tmp_path / "site-3")
    assert len(first) > 10


def test_a_build_removes_what_the_last_one_left_and_nothing_else(tmp_path: Path) -> None:
    folder = archive(tmp_path / "runs")
    site = built(folder, tmp_path)
    (site / "CNAME").write_text("example.org")
    (folder / "run004.jsonl").unlink()
    before = set(files(site))
    after = set(files(built(folder, tmp_path)))
    assert "backend-torch-cuda.html" in before - after
    assert "CNAME" in after
    fresh = set(files(built(folder, tmp_path, "fresh")))
    assert after - {"CNAME"} == fresh


def test_a_manifest_cannot_make_the_build_remove_what_is_not_the_sites(tmp_path: Path) -> None:
    folder = archive(tmp_path / "runs")
    site = built(folder, tmp_path)
    treasure = tmp_path / "treasure"
    treasure.write_text("mine")
    (site / "site.json").write_text(json.dumps({"files": ["../treasure", str(treasure), 7]}))
    built(folder, tmp_path)
    assert treasure.read_text() == "mine"


def test_what_changed_comes_first_and_what_diverges_next(tmp_path: Path) -> None:
    page = text(built(archive(tmp_path / "runs"), tmp_path))
    assert page.startswith("5 programs diverge that did not in the run before")
    assert "5 of them diverging" in page
    assert page.index("What changed since the run before") < page.index("What diverges now")
    assert "1 no longer compared" in page
    assert "TIES-02.2 conforms → unsupported" in page
    assert "no 'amax'" in page or "no &#39;amax&#39;" in page


def test_not_compared_is_never_counted_as_diverging(tmp_path: Path) -> None:
    lines = [
        made_runs.line("A-1", "ties"),
        *(
            made_runs.uncompared(f"A-{n}", "ties", o, "why")
            for n, o in enumerate(("unsupported", "error", "not_run"), start=2)
        ),
    ]
    run(tmp_path / "runs", 0, lines)
    site = built(tmp_path / "runs", tmp_path)
    page = text(site)
    assert page.startswith("Nothing diverges")
    assert "conforms in 1 program; 3 not compared" in page
    assert "%" not in page.partition("Agreement")[0]
    badge = (site / "badges/impl-cpu-values.svg").read_text("utf-8")
    assert "conforms, 3 not compared" in badge and "#14703f" not in badge


def test_a_badge_is_a_picture_with_a_name_and_says_which_level(tmp_path: Path) -> None:
    site = built(archive(tmp_path / "runs"), tmp_path)
    badges = sorted((site / "badges").glob("*.svg"))
    assert len(badges) == 8
    for badge in badges:
        (svg,) = minidom.parse(str(badge)).getElementsByTagName("svg")
        assert svg.getAttribute("aria-label") and svg.getAttribute("role") == "img"
    assert "2 diverge, 4 not compared" in (site / "badges/impl-cpu-diagnostics.svg").read_text(
        "utf-8"
    )


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
    command = [sys.executable, "-m", "conformance.cli", "dashboard", str(folder), "site"]
    builds = [
        subprocess.Popen([*command, "--cache", "c"], cwd=tmp_path, env=environment())
        for _ in range(3)
    ]
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


def test_nothing_a_backend_says_is_markup(tmp_path: Path) -> None:
    hostile = made_runs.HOSTILE.replace("\ud800", "")
    loud = {**made_runs.diverging("TIES-02.1", "ties", operator=hostile), "area": hostile}
    loud["divergences"]["values"]["got"] = hostile
    loud["rule"] = hostile
    lines = [made_runs.hostile(), loud, made_runs.hostile(made_runs.HOSTILE)]
    run(
        tmp_path / "runs",
        0,
        [made_runs.line("TIES-02.1", "ties")],
        backend=backend(hostile, hostile),
    )
    run(tmp_path / "runs", 1, lines, backend=backend(hostile, hostile), stale=(hostile,))
    (run(tmp_path / "runs", 2, lines, started=hostile)).write_text(
        (tmp_path / "runs" / "run002.jsonl").read_text().replace("run002", "<b>run002")
    )
    site = built(tmp_path / "runs", tmp_path)
    for name, content in files(site).items():
        page = content.decode("utf-8")
        assert "<img" not in page and "window.hacked = 1</script>" not in page, name
        assert "\u202e" not in page and "\x1b" not in page, name
        if name.endswith(".html"):
            assert page.count("<script") == page.count("</script>") <= 3
        if name.endswith(".svg"):
            minidom.parseString(page)
        if name.endswith(".js"):
            assert re.fullmatch(
                r'shard\("data/[a-z]+-[0-9a-f]{16}\.js","[A-Za-z0-9+/=]*"\);\n', page
            )
        assert re.fullmatch(r"[A-Za-z0-9._/-]+", name)


def test_pages_ask_for_nothing_from_outside(tmp_path: Path) -> None:
    site = built(archive(tmp_path / "runs"), tmp_path)
    for name, content in files(site).items():
        page = content.decode("utf-8")
        if name.endswith(".html"):
            policy = html.unescape(page)
            assert "default-src 'none'" in policy and "require-trusted-types-for" in policy
            assert not re.search(r"<(?:link|img|iframe)|src=|url\(|@import", page.split("<main")[0])
            loads = name in ("programs.html", "compare.html")
            assert ("strict-dynamic" in page) == loads


def test_a_key_is_where_the_script_looks_for_it() -> None:
    # Values of the published FNV-1a, 32 bits.
    assert place("", 2**32) == 0x811C9DC5
    assert place("a", 2**32) == 0xE40C292C
    assert place("foobar", 2**32) == 0xBF9CF968


@pytest.mark.parametrize(
    ("part", "whole", "said"),
    [
        (10, 10, "100 %"),
        (0, 10, "0 %"),
        (1, 3, "33.3 %"),
        (9999, 10000, "99.99 %"),
        (9_999_999, 10_000_000, "> 99.999 %"),
    ],
)
def test_a_share_is_never_rounded_to_all(part: int, whole: int, said: str) -> None:
    assert percent(part, whole) == said


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


def regressing(folder: Path) -> Path:
    """Three runs: all conforms; two causes appear; one of them is mended, and a program is new."""
    ids = [f"TIES-02.{n}" for n in range(1, 13)]
    good = [made_runs.line(name, "ties", rule="TIES-02") for name in ids]
    wrong = [made_runs.diverging(name, "ties", "values", rule="TIES-02") for name in ids]
    other = made_runs.diverging("SEED-01.1", "seeds", "graph", rule="SEED-01")
    fine = made_runs.line("SEED-01.1", "seeds", rule="SEED-01")
    url = "https://ci.example/{}/report.html"
    for number, lines in enumerate(([*good, fine], [*wrong, other], [*wrong, fine])):
        made = {"revision": f"c0ffee{number}", "url": url.format(number)}
        run(folder, number, lines, **made)
    return folder


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


def test_revisions_and_reports_are_linked(tmp_path: Path) -> None:
    folder = regressing(tmp_path / "runs")
    done = conform(
        *("dashboard", folder, "site", "--cache", "c"),
        *("--commit-url", "https://git.example/commit/{}"),
        cwd=tmp_path,
    )
    assert done.returncode == 0, done.stderr
    page = (tmp_path / "site" / "backend-impl-cpu.html").read_text("utf-8")
    assert '<a href="https://git.example/commit/c0ffee2"><code>c0ffee2</code></a>' in page
    assert '<a href="https://ci.example/2/report.html"' in page
    refused = conform("dashboard", folder, "s", "--commit-url", "https://git.example", cwd=tmp_path)
    assert refused.returncode == 2
    assert "has no {}, where the revision belongs" in refused.stderr


def test_rules_are_linked_in_the_specification(tmp_path: Path) -> None:
    folder = regressing(tmp_path / "runs")
    site = ("--spec-url", "https://spec.example/site/")
    done = conform("dashboard", folder, "site", "--cache", "c", *site, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    page = (tmp_path / "site" / "backend-impl-cpu.html").read_text("utf-8")
    assert 'href="https://spec.example/site/ties.html#TIES-02"' in page
    refused = conform("dashboard", folder, "s", "--spec-url", "javascript:alert(1)", cwd=tmp_path)
    assert refused.returncode == 2


def test_an_address_that_acts_is_no_link(tmp_path: Path) -> None:
    lines = [made_runs.line("LEAF-01.1", "leaves")]
    run(tmp_path / "runs", 0, lines, url="javascript:alert(1)", revision="<b>")
    page = (built(tmp_path / "runs", tmp_path) / "backend-impl-cpu.html").read_text("utf-8")
    assert "javascript:" not in page
    assert "<b>" not in page.partition('id="log-title"')[2].partition("</table>")[0]


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
