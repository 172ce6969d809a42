"""Shards of a run, and the merge of their run files."""

from __future__ import annotations

import argparse
import json
import re

import made_runs
import pytest
from command import MINIATURE, TESTS, conform, judge
from test_cli import without_time

from conformance.run_files.merge import Merged
from conformance.run_files.reading import read_run
from conformance.run_files.resume import DifferentSettings
from conformance.suite.shard import Shard, shard
from conformance.suite.suite import Selection, read_suite

LINES = [made_runs.line(f"LEAF-0{number}.1", "leaves") for number in range(1, 6)]


def part(folder, text: str, lines=None, interrupted=False, name=None, **of_header):
    """The run of a shard of LINES, written to a file and read back."""
    taken = shard(text).take(LINES) if lines is None else lines
    header = {
        "selection": {"levels": list(made_runs.LEVELS), "shard": [text]},
        "selected": len(LINES),
        "programs": len(shard(text).take(LINES)),
    }
    path = folder / (name or f"{text.replace('/', '-')}.jsonl")
    made_runs.run_file(path, taken, interrupted=interrupted, **{**header, **of_header})
    return read_run(path)


def test_shards_are_disjoint_whole_and_balanced():
    programs = list(range(103))
    shards = [Shard(number, 8).take(programs) for number in range(1, 9)]
    assert sorted(number for taken in shards for number in taken) == programs
    assert {len(taken) for taken in shards} == {12, 13}
    assert Shard(1, 1).take(programs) == programs


@pytest.mark.parametrize("text", ["0/2", "3/2", "1", "1/", "/2", "a/b", "1/2/3", "-1/2", "1/0", ""])
def test_what_is_no_shard_is_refused(text):
    with pytest.raises(argparse.ArgumentTypeError, match="not a shard"):
        shard(text)


def test_header_of_a_shard_says_which():
    assert Selection(shard=shard("2/8")).to_json()["shard"] == ["2/8"]
    assert Selection().to_json()["shard"] == []


def test_shards_make_the_whole(tmp_path):
    merged = Merged([part(tmp_path, "2/2"), part(tmp_path, "1/2")])
    assert {line["id"] for line in merged.lines} == {line["id"] for line in LINES}
    assert merged.header["programs"] == 5
    assert "selected" not in merged.header
    assert merged.header["selection"]["shard"] == []
    assert merged.missing == []


def test_missing_and_interrupted_shards_are_named(tmp_path):
    merged = Merged([part(tmp_path, "2/4"), part(tmp_path, "1/4", LINES[:1], interrupted=True)])
    assert merged.header["programs"] == 5 and len(merged.lines) == 2
    interrupted, *missing = merged.missing
    assert "1-4.jsonl is interrupted: it has 1 of 2 programs" in interrupted
    assert missing == ["shard 3/4 is missing", "shard 4/4 is missing"]


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"suite": "0.2.0"}, "its suite is 0.2.0, that of"),
        ({"seed": 7}, "its seed is 7"),
        ({"label": "c0ffee"}, "its label is c0ffee, that of"),
        ({"default_dtype": "float64"}, "its default dtype is float64"),
        ({"backend": {"name": "jax", "version": "1", "device": None}}, "jax 1 (no device)"),
        ({"oracle": {"name": "torch", "version": "2.12.0", "device": "cpu"}}, "torch 2.12.0"),
        ({"selection": {"levels": ["values"], "shard": ["2/2"]}}, "levels: values"),
        ({"selected": 6}, "6 programs were selected, 5 for"),
    ],
)
def test_run_of_something_else_is_refused_by_name(tmp_path, changed, said):
    first = part(tmp_path, "1/2")
    with pytest.raises(DifferentSettings) as refused:
        Merged([first, part(tmp_path, "2/2", name="other.jsonl", **changed)])
    assert said in str(refused.value)
    assert "other.jsonl:1:" in str(refused.value) and "1-2.jsonl" in str(refused.value)


def test_duplicates_may_agree_and_must_not_disagree(tmp_path):
    first, second = part(tmp_path, "1/2"), part(tmp_path, "2/2")
    slower = [{**line, "seconds": {"oracle": 1.0, "backend": 2.0}} for line in first.programs]
    assert len(Merged([first, second, part(tmp_path, "1/2", slower, name="again")]).lines) == 5
    wrong = [made_runs.diverging(LINES[0]["id"], "leaves"), *first.programs[1:]]
    with pytest.raises(
        DifferentSettings, match=r"again: it says otherwise of LEAF-01\.1 than .*1-2"
    ):
        Merged([first, second, part(tmp_path, "1/2", wrong, name="again")])


def rerun(folder, lines, name="rerun.jsonl", **of_header):
    """The run of the failures of another, written to a file and read back."""
    selection = {"levels": list(made_runs.LEVELS), "failed_in": ["1-2.jsonl"]}
    path = folder / name
    made_runs.run_file(path, lines, **{"selection": selection, **of_header})
    return read_run(path)


def test_a_rerun_is_folded_back(tmp_path):
    name = LINES[0]["id"]
    first = part(
        tmp_path, "1/2", [made_runs.diverging(name, "leaves"), *shard("1/2").take(LINES)[1:]]
    )
    later = rerun(tmp_path, [made_runs.uncompared(name, "leaves", "error", "it died")])
    last = rerun(tmp_path, [LINES[0]], "last.jsonl", label="again")
    for runs in ([first, part(tmp_path, "2/2"), later, last], [later, last, first]):
        merged = Merged(runs)
        assert {line["id"]: line["outcome"] for line in merged.lines}[name] == "conforms"
        assert merged.header["selection"].get("failed_in") is None
    merged = Merged([first, last, later])
    assert {line["id"]: line["outcome"] for line in merged.lines}[name] == "error"


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"seed": 7}, "rerun.jsonl:1: its seed is 7, that of"),
        ({"backend": {"name": "jax", "version": "1", "device": None}}, "its backend is jax 1"),
        (
            {"oracle": {"name": "torch", "version": "2.12.0", "device": "cpu"}},
            "its oracle is torch",
        ),
        ({"selection": {"levels": ["graph"], "failed_in": ["x"]}}, "it counts the levels graph;"),
    ],
)
def test_a_rerun_of_something_else_is_refused(tmp_path, changed, said):
    with pytest.raises(DifferentSettings, match=said):
        Merged([part(tmp_path, "1/2"), rerun(tmp_path, [LINES[0]], **changed)])


def test_a_rerun_has_only_programs_of_the_run(tmp_path):
    with pytest.raises(DifferentSettings, match=r"X\.1 is no program of the run that it repeats"):
        Merged([part(tmp_path, "1/2"), rerun(tmp_path, [made_runs.line("X.1", "leaves")])])


@pytest.fixture(scope="module")
def shards(tmp_path_factory):
    """A folder with both shards of a run of the miniatures, and the unsharded run."""
    folder = tmp_path_factory.mktemp("shards")
    for text, name in (("1/2", "1.jsonl"), ("2/2", "2.jsonl")):
        done = judge("wrong:values", "--shard", text, "--run-file", name, cwd=folder)
        assert done.returncode in (0, 1), done.stdout + done.stderr
    judge("wrong:values", "--run-file", "whole.jsonl", cwd=folder)
    return folder


def merge(folder, *arguments):
    return conform("merge", *arguments, *MINIATURE[:2], cwd=folder)


def test_merged_run_is_the_whole_run(shards):
    files = ("--junit", "m.xml", "--summary", "m.md")
    done = merge(shards, "2.jsonl", "1.jsonl", "-o", "merged.jsonl", *files)
    assert done.returncode == 1, done.stdout + done.stderr
    assert "JUnit XML: m.xml" in done.stdout and "summary: m.md" in done.stdout
    assert "LEAF-02.1" in (shards / "m.md").read_text("utf-8")
    merged, whole = (without_time(shards / name) for name in ("merged.jsonl", "whole.jsonl"))
    assert merged == whole


def test_a_run_of_failures_is_folded_back_by_the_command(shards):
    done = judge(
        *("wrong:values", "--failed-in", "whole.jsonl", "--run-file", "rerun.jsonl"), cwd=shards
    )
    assert done.returncode == 1, done.stdout + done.stderr
    assert len(read_run(shards / "rerun.jsonl").programs) == 1
    done = merge(shards, "whole.jsonl", "rerun.jsonl", "-o", "folded.jsonl")
    assert done.returncode == 1, done.stdout + done.stderr
    assert without_time(shards / "folded.jsonl") == without_time(shards / "whole.jsonl")


def test_merge_without_a_shard_is_incomplete(shards):
    done = merge(shards, "2.jsonl", "-o", "half.jsonl")
    assert done.returncode == 3, done.stdout + done.stderr
    assert "shard 1/2 is missing" in done.stderr
    assert "interrupted, 2 of 5 programs judged" in done.stdout
    assert not read_run(shards / "half.jsonl").complete


def of_shards(folder, backend, *options, name):
    """Run both shards of a run with these options; returns the names of the run files."""
    files = [f"{name}-{number}.jsonl" for number in (1, 2)]
    for number, file in enumerate(files, 1):
        judge(backend, "--shard", f"{number}/2", "--run-file", file, *options, cwd=folder)
    return files


def test_what_the_shards_allowed_is_allowed_in_the_whole(tmp_path):
    asked = of_shards(tmp_path, "lacking:namespace", "--allow-unsupported", name="allowed")
    whole = judge(
        *("lacking:namespace", "--allow-unsupported", "--junit", "w.xml", "--run-file", "w.jsonl"),
        cwd=tmp_path,
    )
    done = merge(tmp_path, *asked, "-o", "m.jsonl", "--junit", "m.xml")
    assert (done.returncode, whole.returncode) == (0, 0), done.stdout + done.stderr
    assert "that was allowed (--allow-unsupported)" in " ".join(done.stdout.split())
    assert without_time(tmp_path / "m.jsonl") == without_time(tmp_path / "w.jsonl")
    counts = [
        re.findall(r' (?:tests|failures|errors|skipped)="\d+"', (tmp_path / name).read_text())
        for name in ("m.xml", "w.xml")
    ]
    assert counts[0] == counts[1]
    strict = of_shards(tmp_path, "lacking:namespace", name="strict")
    assert merge(tmp_path, strict[0], asked[1], "-o", "n.jsonl").returncode == 3
    done = merge(tmp_path, *strict, "-o", "n.jsonl", "--allow-unsupported")
    assert done.returncode == 0, done.stdout + done.stderr
    assert read_run(tmp_path / "n.jsonl").header["allowed"] == ["unsupported"]


def test_a_known_divergence_that_is_gone_fails_the_whole_as_its_shard(tmp_path):
    entry = '[[known]]\nprogram = "LEAF-02.1"\nlevel = "values"\nreason = "once"\n'
    (tmp_path / "known.toml").write_text(entry, "utf-8")
    files = of_shards(tmp_path, "right:namespace", "--known", "known.toml", name="known")
    done = merge(tmp_path, *files, "-o", "m.jsonl")
    assert done.returncode == 1, done.stdout + done.stderr
    assert "LEAF-02.1 conforms at level values: remove the entry" in done.stdout


def test_merge_of_what_does_not_belong_together_writes_nothing(shards):
    other = [json.loads(text) for text in (shards / "1.jsonl").read_text("utf-8").splitlines()]
    other[0]["seed"] = 7
    made_runs.write(shards / "other.jsonl", other)
    done = merge(shards, "1.jsonl", "other.jsonl", "-o", "none.jsonl")
    assert done.returncode == 2
    assert "other.jsonl:1: its seed is 7, that of 1.jsonl is 0." in done.stderr
    assert not (shards / "none.jsonl").exists()


def test_the_suites_shards_are_the_suite():
    """Every program is in exactly one shard, for every selection."""
    programs = read_suite(TESTS / "miniature" / "spec").select(Selection(areas=("ties", "leaves")))
    taken = [program for number in (1, 2, 3) for program in Shard(number, 3).take(programs)]
    assert sorted(map(id, taken)) == sorted(map(id, programs))
