"""Runs based on an earlier run: its failures only, or its unfinished rest."""

from __future__ import annotations

import json
from dataclasses import replace

import made_runs
import pytest
from command import MINIATURE, SPEC, conform, judge
from test_cli import without_time

from conformance.program.program import Program
from conformance.run.plan import plan
from conformance.run_files.reading import read_run
from conformance.run_files.resume import failed, taken_over
from conformance.run_files.run import Run, Truncated
from conformance.run_files.writing import RunWriter
from conformance.settings.settings import Settings
from conformance.suite.suite import Selection
from reports.summary import facts


def test_failed_is_what_diverges_or_broke():
    known = {"reason": "so", "link": None}
    lines = [
        made_runs.line("A.1", "leaves"),
        made_runs.diverging("A.2", "leaves"),
        made_runs.diverging("A.3", "leaves", known=known),
        made_runs.line("A.4", "leaves", known={**known, "stale": True}),
        made_runs.uncompared("A.5", "leaves", "error", "it died"),
        made_runs.uncompared("A.6", "leaves", "unsupported", "no such name"),
    ]
    assert failed(Run(made_runs.header(), lines, None)) == ["A.2", "A.4", "A.5"]


def test_a_program_that_was_changed_since_is_not_taken_over():
    same, other = (Program(name, "leaves", "x = torch.ones(3)\n", "") for name in ("A.1", "A.2"))
    lines = [
        made_runs.line("A.1", "leaves", source=same.paste()),
        made_runs.line("A.2", "leaves", source="x = torch.zeros(3)\n"),
        made_runs.line("A.3", "leaves"),
    ]
    assert list(taken_over(Run(made_runs.header(), lines, None), [same, other])) == ["A.1"]


def test_a_program_that_ended_in_an_error_is_run_again_after_all_others(whole, tmp_path):
    lines = [json.loads(text) for text in whole.read_text("utf-8").splitlines()]
    for line in lines[1:3]:
        line |= {"outcome": "error", "reason": "the process died"}
    part = made_runs.write(tmp_path / "r.jsonl", lines[:4])
    options = (*MINIATURE, "--backend", "miniature.wrong:values", "--oracle", "impl")
    done = conform("run", *options, "--resume", part, "--run-file", "new.jsonl", cwd=tmp_path)
    assert done.returncode == 1, done.stdout + done.stderr
    assert f"1 more are taken over from {part}" in done.stdout
    assert without_time(tmp_path / "new.jsonl") == without_time(whole)
    for line in lines[4:-1]:
        line |= {"outcome": "not_run", "reason": "given up"}
    for kept in (lines[:4], lines[:-1]):  # where it was ended, the others are there as not run
        made_runs.write(part, kept)
        settings = Settings("miniature.wrong:values", "impl", spec=SPEC, resume=part)
        made = plan(replace(settings, selection=Selection(areas=("leaves", "ties"))))
        assert [program.id for program in made.programs][-2:] == [line["id"] for line in lines[1:3]]


def test_a_writer_that_takes_lines_over_has_them_from_the_start(tmp_path):
    lines = [made_runs.line(name, "leaves") for name in ("A.1", "A.2", "A.3")]
    path = made_runs.run_file(tmp_path / "r", lines[1:2], interrupted=True, programs=3)
    writer = RunWriter(path, made_runs.header(programs=3), ["A.1", "A.2", "A.3"], lines[1:2])
    assert [line["id"] for line in read_run(path).programs] == ["A.2"]
    writer.write(lines[0])
    assert [line["id"] for line in read_run(path).programs] == ["A.2", "A.1"]
    with pytest.raises(ValueError, match=r"A\.2 is in the run already"):
        writer.write(lines[1])
    writer.abandon()
    assert [line["id"] for line in read_run(path).programs] == ["A.1", "A.2"]


def test_a_torn_end_is_read_only_where_it_is_expected(tmp_path):
    path = made_runs.run_file(tmp_path / "r", [made_runs.line("A.1", "leaves")], interrupted=True)
    path.write_text(path.read_text("utf-8") + '{"type":"progr', encoding="utf-8")
    with pytest.raises(Truncated):
        read_run(path)
    assert [line["id"] for line in read_run(path, torn=True).programs] == ["A.1"]


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """The run file of a whole run in which one program diverges."""
    folder = tmp_path_factory.mktemp("whole")
    judge("wrong:values", "--run-file", "whole.jsonl", cwd=folder)
    return folder / "whole.jsonl"


def cut(whole, path, programs: int, **of_header):
    """The run as it would be after an interruption after so many programs."""
    lines = [json.loads(text) for text in whole.read_text("utf-8").splitlines()]
    lines = [{**lines[0], **of_header}, *lines[1 : programs + 1]]
    text = made_runs.write(path, lines).read_text("utf-8")
    path.write_text(text + '{"type":"program","id":', encoding="utf-8")
    return path


@pytest.mark.parametrize("processes", ["0", "2"])
def test_interrupted_run_is_made_whole(whole, tmp_path, processes):
    part = cut(whole, tmp_path / "r.jsonl", 3, run="feed", started="2020-01-01T00:00:00+00:00")
    # Results taken over are recognisable: a miniature under the same name is always wrong.
    done = judge("wrong:values", "--resume", part, "-n", processes, cwd=tmp_path)
    assert done.returncode == 1, done.stdout + done.stderr
    assert f"3 more are taken over from {part}" in done.stdout
    assert without_time(part) == without_time(whole)
    run = read_run(part)
    assert run.complete and run.header["run"] == "feed"
    seconds = [line["seconds"] for line in run.programs]
    assert seconds[:3] == [line["seconds"] for line in read_run(whole).programs[:3]]


def test_run_of_which_only_the_end_is_missing_is_ended(whole, tmp_path):
    part = cut(whole, tmp_path / "r.jsonl", 5)
    done = judge("wrong:values", "--resume", part, cwd=tmp_path)
    assert done.returncode == 1, done.stdout + done.stderr
    assert without_time(part) == without_time(whole)


def test_a_run_keeps_its_label_when_it_is_resumed(whole, tmp_path):
    part = cut(whole, tmp_path / "r.jsonl", 5, label="c0ffee")
    judge("wrong:values", "--resume", part, "--label", "another", cwd=tmp_path)
    assert read_run(part).header["label"] == "c0ffee"
    assert "label" not in read_run(whole).header


def test_a_label_is_one_line(tmp_path):
    done = judge("wrong:values", "--label", "c0ffee\nbad", cwd=tmp_path)
    assert done.returncode == 2
    assert "not one line of at most 200 characters" in done.stderr
    judge("wrong:values", "--label", "c0ffee", "--run-file", "r.jsonl", cwd=tmp_path)
    run = read_run(tmp_path / "r.jsonl")
    assert run.header["label"] == "c0ffee"
    assert ("Label", "c0ffee") in facts(run)


def test_run_of_something_else_is_not_resumed(whole, tmp_path):
    part = cut(whole, tmp_path / "r.jsonl", 3)
    before = part.read_bytes()
    done = judge("wrong:values", "--resume", part, "--seed", "7", cwd=tmp_path)
    assert done.returncode == 2, done.stdout + done.stderr
    assert f"{part}:1: its seed is 0, that of this run is 7." in done.stderr
    assert part.read_bytes() == before


def test_only_what_failed_is_run_again(whole, tmp_path):
    options = (*MINIATURE, "--failed-in", whole)
    done = conform("list", *options, cwd=tmp_path)
    assert [line.split()[0] for line in done.stdout.splitlines()] == ["LEAF-02.1"]
    done = conform("list", *options, "--rule", "LEAF-01", cwd=tmp_path)
    assert done.returncode == 2
    assert "none of the selected programs failed in" in done.stderr
