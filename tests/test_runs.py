"""Run files: written in order of completion, sorted at the end, read back or refused by name."""

from __future__ import annotations

import gzip
import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import jsonschema
import pytest

from conformance.base.levels import LEVELS
from conformance.run_files.reading import read_run
from conformance.run_files.run import (
    Duplicate,
    Malformed,
    Mismatched,
    NotARun,
    RunError,
    Truncated,
    WrongSchema,
    schema,
)
from conformance.run_files.seal import seal, unsealed
from conformance.run_files.totals import exit_code, footer
from conformance.run_files.writing import RunWriter


def header(programs: int = 2) -> dict:
    return {
        "type": "header",
        "schema": 3,
        "run": "0123456789ab",
        "started": "2026-01-01T00:00:00+00:00",
        "suite": "0.1.0",
        "backend": {"name": "impl", "version": "0.1.0", "device": "cpu"},
        "oracle": {"name": "torch", "version": "2.13.0", "device": "cpu"},
        "host": {"python": "3.11.2", "platform": "Linux"},
        "seed": 0,
        "programs": programs,
        "selection": {"areas": [], "levels": list(LEVELS)},
    }


def program(identifier: str, outcome: str = "conforms", **changed) -> dict:
    verdict = "diverges" if outcome == "diverges" else "conforms"
    step = {"statement": 0, "line": 2, "changed": {"x": {"kind": "float", "value": 0.1}}}
    divergence = {"step": 0, "line": 2, "name": "x", "field": "value", "expected": 0.1, "got": 0.2}
    return {
        "type": "program",
        "id": identifier,
        "area": "seeds",
        "rule": "SEED-01",
        "operator": None,
        "sentence": "A sentence",
        "dtype": None,
        "file": "03-seeds.md",
        "line": 7,
        "source": "import torch\nx = 0.1\n",
        "outcome": outcome,
        "levels": dict.fromkeys(LEVELS, verdict),
        "divergences": {"values": divergence} if outcome == "diverges" else {},
        "specification": [],
        "ulp": {"float32": 0.5},
        "reason": None,
        "known": None,
        "expected": {"steps": [step]},
        "seconds": {"oracle": 0.001, "backend": 0.002},
        **changed,
    }


def written(path: Path, *lines: dict, order=("A.1", "A.2", "B.1")) -> Path:
    writer = RunWriter(path, header(len(lines)), order)
    for line in lines:
        writer.write(line)
    code = exit_code(lines)
    writer.close(footer(lines, "2026-01-01T00:00:09+00:00", code))
    return path


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
        "from test_runs import *\n"
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


def changed(path: Path, edit) -> Path:
    """The file with edited lines, and checksums for them."""
    lines = edit(path.read_bytes().split(b"\n"))
    whole = (seal(unsealed(line)[0]) if line.endswith(b"}") else line for line in lines)
    path.write_bytes(b"\n".join(whole))
    return path


@pytest.fixture
def good(tmp_path):
    return written(tmp_path / "run.jsonl", program("A.1"), program("A.2"))


def refused(path: Path, error: type[RunError], line: int | None, text: str) -> None:
    with pytest.raises(error, match=text) as caught:
        read_run(path)
    assert caught.value.line == line
    assert str(caught.value).startswith(str(path))
    if line:
        assert f":{line}: " in str(caught.value)


def test_a_gzipped_run_is_the_same_run(good):
    packed = good.with_suffix(".jsonl.gz")
    packed.write_bytes(gzip.compress(good.read_bytes()))
    assert read_run(packed).programs == read_run(good).programs


@pytest.mark.parametrize("damage", [slice(0, -12), slice(0, 40)])
def test_a_gzipped_run_that_breaks_off(good, damage):
    packed = good.with_suffix(".jsonl.gz")
    packed.write_bytes(gzip.compress(good.read_bytes())[damage])
    with pytest.raises(Truncated, match="breaks off"):
        read_run(packed)


def test_a_gzipped_run_that_is_rubbish(good):
    packed = good.with_suffix(".jsonl.gz")
    whole = bytearray(gzip.compress(good.read_bytes()))
    whole[20:60] = bytes(40)
    packed.write_bytes(whole)
    with pytest.raises(RunError, match=r"damaged|breaks off"):
        read_run(packed)


def test_a_reader_may_skip_what_it_does_not_need(good):
    def loads(text):
        return {k: v for k, v in json.loads(text).items() if k not in ("expected", "got")}

    whole, skimmed = read_run(good), read_run(good, loads, without=("expected", "got"))
    assert [line["id"] for line in skimmed.programs] == [line["id"] for line in whole.programs]
    with pytest.raises(Malformed, match='"expected" is missing'):
        read_run(good, loads)


def test_missing_file(tmp_path):
    refused(tmp_path / "nowhere", NotARun, None, "cannot be read")


def test_empty_file(tmp_path):
    (tmp_path / "r").write_bytes(b"")
    refused(tmp_path / "r", NotARun, None, "empty")


@pytest.mark.parametrize(
    "text", ["hello\n", "[]\n", '{"type":"program"}\n', "\x00\n", "[" * 100000]
)
def test_something_else(tmp_path, text):
    (tmp_path / "r").write_text(text)
    refused(tmp_path / "r", NotARun, 1, "run file|not JSON")


def test_other_schema(good):
    changed(good, lambda lines: [lines[0].replace(b'"schema":3', b'"schema":4'), *lines[1:]])
    refused(good, WrongSchema, 1, "schema 4.*reads schema 3")


def test_last_line_breaks_off(good):
    whole = good.read_bytes()
    cut = whole.rindex(b'"type":"footer"')
    for length in (cut, cut + 20, len(whole) - 3):
        good.write_bytes(whole[:length])
        refused(good, Truncated, 4, "3 lines above are whole")


def test_header_breaks_off(good):
    good.write_bytes(good.read_bytes()[:50])
    refused(good, Truncated, 1, "breaks off")


def test_every_cut_is_refused_or_reads_as_interrupted(good):
    whole = good.read_bytes()
    for length in range(len(whole) - 1):
        good.write_bytes(whole[:length])
        try:
            run = read_run(good)
        except (Truncated, NotARun):
            continue
        assert not run.complete, f"cut at byte {length}"


def test_line_in_the_middle_is_broken(good):
    changed(good, lambda lines: [lines[0], lines[1][:-30], *lines[2:]])
    refused(good, Malformed, 2, "not JSON")


def test_field_is_missing(good):
    changed(good, lambda lines: [lines[0], lines[1].replace(b'"source"', b'"sauce"'), *lines[2:]])
    refused(good, Malformed, 2, '"source" is missing')


def test_field_has_the_wrong_type(good):
    changed(good, lambda lines: [lines[0], lines[1].replace(b'"seeds"', b"7"), *lines[2:]])
    refused(good, Malformed, 2, '"area": expected `str`, got `int`')


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"outcome": "other_version"}, '"versions" is missing'),
        ({"outcome": "other_version", "versions": []}, '"versions": expected `array` of length >='),
        ({"outcome": "other_version", "versions": ["2.13", "<b>"]}, r'"versions\[1\]": expected'),
        ({"outcome": "other_version", "versions": [2.13]}, r'"versions\[0\]": expected `str`'),
        ({"since": {"version": "newest", "levels": ["values"]}}, '"since.version": expected `str`'),
        ({"since": {"version": "2.15", "levels": ["taste"]}}, r'"since.levels\[0\]": invalid'),
    ],
)
def test_versions_are_minor_versions_of_torch(tmp_path, fields, message):
    refused(written(tmp_path / "r", program("A.1", **fields)), Malformed, 2, message)


@pytest.mark.parametrize("claims", [[], {"values": []}, {"taste": ["2.15"]}, {"values": ["2"]}])
def test_claims_name_levels_and_versions(good, claims):
    text = f'"claims":{json.dumps(claims)},"exit"'.encode()
    changed(good, lambda lines: [*lines[:3], lines[3].replace(b'"exit"', text), b""])
    refused(good, Malformed, 4, r'not a footer: "claims(\.values|\[...\])*(\[0\])?": ')


def test_unknown_type_of_line(good):
    changed(good, lambda lines: [lines[0], b'{"type":"note"}', *lines[1:]])
    refused(good, Malformed, 2, "note")


def test_program_occurs_twice(good):
    changed(good, lambda lines: [lines[0], lines[1], lines[1], *lines[2:]])
    refused(good, Duplicate, 3, r"A\.1 was on line 2")


def test_two_runs_in_one_file(good):
    changed(good, lambda lines: [*lines[:-1], *lines])
    refused(good, Duplicate, 5, "two runs")


def test_second_header(good):
    changed(good, lambda lines: [lines[0], lines[0], *lines[1:]])
    refused(good, Duplicate, 2, "second header")


def test_footer_counts_something_else(good):
    changed(good, lambda lines: [lines[0], lines[1], *lines[3:]])
    refused(good, Mismatched, 3, "lines were lost")


def test_missing_footer_is_an_interrupted_run(good):
    changed(good, lambda lines: lines[:3])
    run = read_run(good)
    assert not run.complete
    assert len(run.programs) == 2
