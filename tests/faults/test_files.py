"""Run files and recordings that are damaged or too large."""

from __future__ import annotations

import copy
import gzip
import json
import lzma
import os
import random
import re
from contextlib import suppress
from pathlib import Path

import jsonschema
import made_runs
import pytest
from command import MINIATURE, conform, judge

import reference
from conformance.base import compressed
from conformance.execution.recordings import Recording
from conformance.execution.trace_file import RecordingError
from conformance.run_files.changes import standings
from conformance.run_files.merge import Merged
from conformance.run_files.reading import read_run
from conformance.run_files.resume import failed
from conformance.run_files.run import Altered, Malformed, Mismatched, RunError, schema
from conformance.run_files.times import times
from conformance.run_files.writing import RunWriter
from reports.run import ReportError, write

REFERENCE = Path(reference.__path__[0])


@pytest.fixture(scope="module")
def real(tmp_path_factory):
    """The folder of a run file and a recording that commands wrote, with lines of every outcome."""
    folder = tmp_path_factory.mktemp("real")
    judge("wrong:always", "--run-file", "run.jsonl", cwd=folder)
    conform("record", "traces.jsonl", "--oracle", "impl", *MINIATURE, cwd=folder)
    lines = {line["id"]: line for line in made_runs.small()}
    lines |= {line["id"]: line for line in parsed(folder / "run.jsonl")[1:-1]}
    claims = {"values": ["2.15"]}
    made_runs.run_file(folder / "run.jsonl", list(lines.values()), claims=claims)
    return folder


def parsed(path) -> list[dict]:
    """The lines of a file without their checksums."""
    lines = [json.loads(line) for line in path.read_bytes().split(b"\n") if line]
    return [{k: v for k, v in line.items() if k not in ("crc", "sha256")} for line in lines]


def sealed_but_the_footer(lines: list[dict]) -> list[bytes | dict]:
    """The lines with their checksums; that of the footer depends on all lines."""
    return [*map(made_runs.sealed, lines[:-1]), lines[-1]]


@pytest.mark.fault("flipped bytes of a run file", "1,221 of 6,000 went unnoticed")
def test_every_flipped_byte_of_a_run_file_is_found(real, tmp_path):
    whole, path, draw = (real / "run.jsonl").read_bytes(), tmp_path / "run.jsonl", random.Random(0)
    line_of = [number for number, line in enumerate(whole.split(b"\n"), 1) for _ in line + b"\n"]
    named = 0
    path.write_bytes(whole)
    with path.open("r+b") as file:
        for _ in range(1500):
            at, bit = draw.randrange(len(whole) - 1), 1 << draw.randrange(8)
            os.pwrite(file.fileno(), bytes([whole[at] ^ bit]), at)
            with pytest.raises(RunError) as caught:
                read_run(path)
            named += caught.value.line in (line_of[at], line_of[at] - 1)
            os.pwrite(file.fileno(), whole[at : at + 1], at)
    assert path.read_bytes() == whole
    assert named > 1450


@pytest.mark.fault("an edited line, compressed or not", "swapped outcomes read as complete")
@pytest.mark.parametrize("pack", [gzip.compress, lzma.compress], ids=["gzip", "xz"])
def test_an_edited_line_is_named_in_a_compressed_file_too(real, tmp_path, pack):
    whole, path = (real / "run.jsonl").read_bytes(), tmp_path / "run.jsonl.packed"
    path.write_bytes(pack(whole))
    assert read_run(path).programs == read_run(real / "run.jsonl").programs
    path.write_bytes(pack(whole.replace(b'"outcome":"diverges"', b'"outcome":"conforms"', 1)))
    with pytest.raises(Altered, match="the line was changed") as caught:
        read_run(path)
    outcomes = [line.get("outcome") for line in parsed(real / "run.jsonl")]
    assert caught.value.line == 1 + outcomes.index("diverges")


@pytest.mark.fault("lines that were moved", "they read as complete")
def test_lines_that_were_moved_are_found(real, tmp_path):
    lines = (real / "run.jsonl").read_bytes().split(b"\n")
    lines[1], lines[2] = lines[2], lines[1]
    (tmp_path / "run.jsonl").write_bytes(b"\n".join(lines))
    with pytest.raises(Mismatched, match="sha256"):
        read_run(tmp_path / "run.jsonl")


@pytest.mark.fault("a line without its checksum", "there were no checksums")
def test_a_line_without_its_checksum_is_not_taken(real, tmp_path):
    lines = (real / "run.jsonl").read_bytes().split(b"\n")
    lines[2] = lines[2][:-18] + b"}"
    (tmp_path / "run.jsonl").write_bytes(b"\n".join(lines))
    with pytest.raises(Altered, match="its checksum is missing") as caught:
        read_run(tmp_path / "run.jsonl")
    assert caught.value.line == 3


OTHERS = (
    *(None, True, False, -1, 0, 3, 10**400, 2.5, "", "x", "\ud800", "1/99999999", "2.13"),
    *([], {}, ["x"], [None], {"x": 1}, {"kind": "tensor"}, {"\ud800": {}}),
    *(float("nan"), float("inf"), json.loads("[" * 500 + "]" * 500)),
)


def places(data, path=()):
    """The paths to every value in JSON data."""
    yield path
    if isinstance(data, dict | list):
        for key, value in data.items() if isinstance(data, dict) else enumerate(data):
            yield from places(value, (*path, key))


def mutated(line: dict, draw: random.Random) -> dict:
    """The line with one field removed, doubled under another name, or of another value."""
    line = copy.deepcopy(line)
    path = draw.choice([path for path in places(line) if path])
    inside = line
    for key in path[:-1]:
        inside = inside[key]
    match draw.randrange(6):
        case 0:
            del inside[path[-1]]
        case 1 if isinstance(inside, dict):
            inside[draw.choice(["x", "\ud800", ""])] = inside.pop(path[-1])
        case _:
            inside[path[-1]] = draw.choice(OTHERS)
    return line


@pytest.mark.fault("wrong fields of a run file", "tracebacks in 13 places")
def test_no_field_of_a_run_file_ends_in_another_exception(real, tmp_path):
    """Thousands of run files, each with one wrong field: read for all purposes, or refused."""
    lines, path, draw = parsed(real / "run.jsonl"), tmp_path / "run.jsonl", random.Random(0)
    sealed = sealed_but_the_footer(lines)
    refused = 0
    for number in range(1000):
        at = draw.choice((0, 0, len(lines) - 1, draw.randrange(len(lines))))
        made_runs.write(path, [*sealed[:at], mutated(lines[at], draw), *sealed[at + 1 :]])
        try:
            run = read_run(path)
        except RunError as error:
            assert str(error).startswith(f"{path}:{error.line}: ") and len(str(error)) < 1000
            refused += 1
            continue
        read_run(path, torn=True)
        standings(run.programs), failed(run), times(run.programs)
        try:
            merged = Merged([run])
        except RunError:
            continue
        RunWriter(tmp_path / "merged", merged.header, (), merged.lines).close(run.footer or {})
        read_run(tmp_path / "merged")
        if number % 40 == 0:
            with suppress(ReportError):
                write(run, tmp_path / "report.html")
    assert 400 < refused < 950


def is_extended(validator, line: dict) -> bool:
    """Whether all that the schema refuses in a line are fields that it does not know."""
    (error,) = validator.iter_errors(line)
    kinds = ("header", "program", "footer")
    of_kind = [one for one in error.context if kinds.index(line["type"]) == one.schema_path[0]]
    return all("Additional properties" in one.message for one in of_kind)


def test_the_reader_refuses_what_the_published_schema_refuses(real, tmp_path):
    validator = jsonschema.Draft202012Validator(schema())
    lines, path, draw = parsed(real / "run.jsonl"), tmp_path / "run.jsonl", random.Random(1)
    for line in lines:
        validator.validate(line)
    sealed = sealed_but_the_footer(lines)
    both = 0
    for _ in range(300):
        at = draw.choice((0, len(lines) - 1, draw.randrange(len(lines))))
        wrong = mutated(lines[at], draw)
        if wrong.get("type") != lines[at]["type"] or re.search("NaN|Infinity", json.dumps(wrong)):
            continue
        if validator.is_valid(wrong) or is_extended(validator, wrong):
            continue
        made_runs.write(path, [*sealed[:at], wrong, *sealed[at + 1 :]])
        with pytest.raises(RunError):
            read_run(path)
        both += 1
    assert both > 100


@pytest.mark.fault("wrong fields of a recording", "tracebacks in 13 places")
def test_no_field_of_a_recording_ends_in_another_exception(real, tmp_path):
    lines, path, draw = parsed(real / "traces.jsonl"), tmp_path / "traces.jsonl", random.Random(0)
    refused = 0
    for _ in range(2500):
        at = draw.choice((0, draw.randrange(len(lines))))
        changed = [*lines[:at], mutated(lines[at], draw), *lines[at + 1 :]]
        path.write_text("".join(json.dumps(line, separators=(",", ":")) + "\n" for line in changed))
        try:
            recording = Recording(path)
            recording.check(0, "float32")
            str(recording.oracle["name"])
            for identifier in recording.ids():
                recording.entry(identifier)
        except RecordingError as error:
            assert str(error).startswith(str(path)) and len(str(error)) < 1000
            refused += 1
    assert 800 < refused < 2400


@pytest.mark.fault("a wrong field of a header", "a traceback, or accepted")
@pytest.mark.parametrize(
    ("header", "message"),
    [
        ({"backend": {"version": "1", "device": None}}, '"backend.name" is missing'),
        ({"backend": []}, '"backend": expected `object`, got `array`'),
        ({"selection": {"levels": ["values"], "shard": ["x"]}}, "'x' is not a shard"),
        ({"selection": {"levels": []}}, r'"selection.levels" is \[\]'),
        ({"selection": {"levels": "values"}}, '"selection\\[...\\]": expected `array`'),
        ({"schema": True}, "the run has schema true"),
        ({"programs": 10**400}, '"programs": '),
        ({"seed": 1.5}, '"seed": expected `int`, got `float`'),
        ({"host": {"python": 3}}, '"host'),
    ],
)
def test_a_wrong_field_of_a_header_is_named(tmp_path, header, message):
    path = made_runs.run_file(tmp_path / "run.jsonl", [made_runs.line("A.1", "leaves")], **header)
    with pytest.raises(RunError, match=rf"run\.jsonl:1: .*{message}"):
        read_run(path)


@pytest.mark.fault(
    "numbers that are none, or too large", "an OverflowError, or *the harness failed*"
)
@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("NaN", "NaN is no number of JSON"),
        ("-Infinity", "-Infinity is no number"),
        ("1e999", "1e999 is no number"),
        ("-1.5E+999", r"-1\.5E\+999 is no number"),
        ("1" + "0" * 400 + ".5", "0 is no number"),
        ("1" + "0" * 400, '"seconds.oracle": number out of range'),
        ("9" * 5000, "not JSON: Exceeds the limit"),
    ],
)
def test_numbers_that_are_none(tmp_path, text, message):
    line = {**made_runs.line("A.1", "leaves"), "seconds": {"oracle": 12345, "backend": None}}
    path = made_runs.run_file(tmp_path / "run.jsonl", [line])
    lines = path.read_bytes().split(b"\n")
    changed = lines[1][:-18].replace(b"12345", text.encode()) + b"}"
    path.write_bytes(b"\n".join([lines[0], made_runs.seal(changed), *lines[2:]]))
    with pytest.raises(Malformed, match=rf"run\.jsonl:2: .*{message}"):
        read_run(path)


@pytest.mark.fault("an empty last line", "it was called cut")
def test_an_empty_line_is_called_so(tmp_path):
    path = made_runs.run_file(tmp_path / "run.jsonl", [made_runs.line("A.1", "leaves")])
    path.write_bytes(path.read_bytes() + b"\n")
    with pytest.raises(Malformed, match=r"run\.jsonl:4: the line is empty"):
        read_run(path)


@pytest.mark.fault("a small file that unpacks to gigabytes", "900 MB of 920 KB, 1.5 GB of 229 KB")
@pytest.mark.parametrize(("module", "ending"), [(gzip, "gz"), (lzma, "xz")], ids=["gzip", "xz"])
def test_a_bomb_is_not_unpacked(tmp_path, monkeypatch, module, ending):
    oracle = {"name": "impl", "version": None, "device": None}
    fields = {"oracle": oracle, "seed": 0, "default_dtype": "float32", "programs": 1}
    header = json.dumps({"type": "recording", "schema": 2, **fields}).encode() + b"\n"
    bomb = tmp_path / f"bomb.jsonl.{ending}"
    with module.open(bomb, "wb") as file:
        file.write(header)
        for _ in range(64):
            file.write(bytes(1 << 20))
    monkeypatch.setenv(compressed.VARIABLE, str(1 << 20))
    read = []
    with pytest.raises(compressed.Unreadable, match="it has more than 1,048,576 bytes"):
        read += compressed.lines(bomb)
    assert b"".join(read) == header
    with pytest.raises(RunError, match="more than 1,048,576 bytes"):
        read_run(bomb)
    with pytest.raises(RecordingError, match="more than 1,048,576 bytes"):
        Recording(bomb)
    monkeypatch.setattr(compressed, "LONGEST_LINE", 1 << 16)
    monkeypatch.delenv(compressed.VARIABLE)
    with pytest.raises(RecordingError, match="a line has more than 65,536 bytes"):
        Recording(bomb)


@pytest.mark.fault("an xz file that names a dictionary of gigabytes", "the memory was taken")
def test_the_memory_of_decompression_is_limited(tmp_path, monkeypatch):
    made = tmp_path / "run.jsonl.xz"
    made.write_bytes(lzma.compress(b"one\n", preset=6) + lzma.compress(b"two\n", preset=6))
    assert list(compressed.lines(made)) == [b"one\n", b"two\n"]
    monkeypatch.setattr(compressed, "MEMORY", 1 << 20)
    with pytest.raises(compressed.Unreadable, match="damaged: Memory usage limit"):
        list(compressed.lines(made))
    monkeypatch.undo()
    made.write_bytes(made.read_bytes()[:-10])
    with pytest.raises(compressed.BreaksOff):
        list(compressed.lines(made))


def test_the_limit_is_far_above_the_suites_own_files():
    files = [*REFERENCE.glob("recordings/*.xz"), *REFERENCE.glob("history/*/*.xz")]
    assert len(files) > 5
    for path in files:
        assert sum(map(len, compressed.lines(path))) < compressed.LARGEST / 4
