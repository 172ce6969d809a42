"""Run files: written in order of completion, sorted at the end, and read back."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import jsonschema
import pytest
from made_run_files import header, program, written

from conformance.run_files.reading import read_run
from conformance.run_files.run import schema
from conformance.run_files.totals import exit_code
from conformance.run_files.writing import RunWriter


def test_run_comes_back_as_written(tmp_path):
    lines = [program("A.1"), program("A.2", "diverges"), program("B.1", ulp={"float64": "inf"})]
    run = read_run(written(tmp_path / "run.jsonl", *lines))
    assert run.programs == lines
    assert run.header == header(3)
    assert run.complete
    assert run.footer["totals"] == {
        "conforms": 2,
        "other_version": 0,
        "diverges": 1,
        "unsupported": 0,
        "error": 0,
        "not_run": 0,
    }
    assert run.footer["levels"]["graph"] == {
        "conforms": 2,
        "other_version": 0,
        "diverges": 1,
        "not_applicable": 0,
    }
    assert run.footer["exit"] == 1
    assert run.program("A.2")["outcome"] == "diverges"
    with pytest.raises(KeyError):
        run.program("C.1")


def test_floats_read_back_to_the_same_bits(tmp_path):
    values = [0.1, 1 / 3, 5e-324, -0.0, 1.7976931348623157e308]
    step = {"statement": 0, "line": 2, "result": {"kind": "list", "items": []}}
    step["result"]["items"] = [{"kind": "float", "value": value} for value in values]
    run = read_run(written(tmp_path / "r", program("A.1", expected={"steps": [step]})))
    items = run.programs[0]["expected"]["steps"][0]["result"]["items"]
    assert [repr(item["value"]) for item in items] == [repr(value) for value in values]


def test_lone_surrogates_and_control_characters_survive(tmp_path):
    reason = "half a \udc80 character, \x1b[31m, \x00 and a line\nbreak"
    run = read_run(written(tmp_path / "r", program("A.1", "error", reason=reason)))
    assert run.programs[0]["reason"] == reason


def test_order_of_arrival_does_not_show_in_the_finished_file(tmp_path):
    lines = [program("A.1"), program("A.2"), program("B.1")]
    one = written(tmp_path / "one", *lines)
    other = written(tmp_path / "other", *reversed(lines))
    assert one.read_bytes() == other.read_bytes()


def test_every_line_is_in_the_journal_before_the_next_comes(tmp_path):
    path = tmp_path / "run.jsonl"
    writer = RunWriter(path, header(3), ["A.1", "A.2", "B.1"])
    for count, name in enumerate(["B.1", "A.1"], start=1):
        writer.write(program(name))
        run = read_run(path)
        assert len(run.programs) == count
        assert not run.complete
    assert [line["id"] for line in read_run(path).programs] == ["B.1", "A.1"]
    writer.abandon()
    run = read_run(path)
    assert [line["id"] for line in run.programs] == ["A.1", "B.1"]
    assert not run.complete
    assert [entry.name for entry in tmp_path.iterdir()] == ["run.jsonl"]


def test_killed_writer_leaves_a_readable_run(tmp_path):
    path = tmp_path / "run.jsonl"
    script = (
        "import sys, time; sys.path.insert(0, sys.argv[2])\n"
        "from made_run_files import header, program\n"
        "from conformance.run_files.writing import RunWriter\n"
        "writer = RunWriter(sys.argv[1], header(9))\n"
        "for n in range(5): writer.write(program(f'A.{n}'))\n"
        "print('written', flush=True); time.sleep(60)\n"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", script, str(path), str(Path(__file__).parent)],
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout.readline() == "written\n"
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    process.stdout.close()
    run = read_run(path)
    assert len(run.programs) == 5
    assert not run.complete


def test_writing_one_program_twice_is_refused(tmp_path):
    writer = RunWriter(tmp_path / "r", header())
    writer.write(program("A.1"))
    with pytest.raises(ValueError, match=r"A\.1"):
        writer.write(program("A.1"))
    writer.abandon()
    assert len(read_run(tmp_path / "r").programs) == 1


def test_every_line_meets_the_published_schema(tmp_path):
    validator = jsonschema.Draft202012Validator(schema())
    validator.check_schema(schema())
    known = {"reason": "because", "link": None}
    path = written(
        tmp_path / "r",
        program("A.1"),
        program("A.2", "diverges", known=known, got={"steps": []}),
        program("B.1", "unsupported", reason="no torch.eye", levels={}),
    )
    for line in path.read_text("utf-8").splitlines():
        validator.validate(json.loads(line))


@pytest.mark.parametrize(
    "broken",
    [
        {"outcome": "fine"},
        {"levels": {"depth": "conforms"}},
        {"levels": {"values": "perhaps"}},
        {"known": {"link": None}},
        {"surprise": 1},
        {"source": None},
    ],
)
def test_schema_refuses(broken):
    validator = jsonschema.Draft202012Validator(schema())
    with pytest.raises(jsonschema.ValidationError):
        validator.validate(program("A.1", **broken))


@pytest.mark.parametrize(
    ("outcomes", "known", "stale", "code"),
    [
        (["conforms"], False, [], 0),
        (["conforms", "diverges"], False, [], 1),
        (["conforms", "diverges"], True, [], 0),
        (["diverges", "error"], False, [], 1),
        (["conforms"], False, ["gone"], 1),
        (["conforms", "unsupported"], False, [], 3),
        (["conforms", "error"], False, [], 3),
        (["conforms", "not_run"], False, [], 3),
        (["diverges", "error"], True, [], 3),
    ],
)
def test_exit_code(outcomes, known, stale, code):
    excuse = {"reason": "known", "link": None} if known else None
    lines = [
        program(f"A.{n}", outcome, known=excuse if outcome == "diverges" else None)
        for n, outcome in enumerate(outcomes)
    ]
    assert exit_code(lines, stale) == code


@pytest.mark.parametrize(
    ("outcomes", "code"),
    [
        (["conforms", "unsupported"], 0),
        (["conforms", "unsupported", "error"], 3),
        (["unsupported"], 3),
        (["diverges", "unsupported"], 1),
    ],
)
def test_exit_code_of_a_port_that_may_lack_things(outcomes, code):
    lines = [program(f"A.{n}", outcome) for n, outcome in enumerate(outcomes)]
    assert exit_code(lines, (), ("unsupported",)) == code
