"""Reading of run files: damaged ones are refused by name."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest
from made_run_files import program, written

from conformance.run_files.reading import read_run
from conformance.run_files.run import (
    Duplicate,
    Malformed,
    Mismatched,
    NotARun,
    RunError,
    Truncated,
    WrongSchema,
)
from conformance.run_files.seal import seal, unsealed


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


ROWS = [{"y": {"0": [["result", "y", 0, 1], ["other", None, None, None]], "1": None}}]


def test_saved_tensors_are_rows_by_name_and_node(tmp_path):
    read_run(written(tmp_path / "r", program("A.1", saved={"expected": ROWS, "got": [{}]})))
    for saved, message in [
        (ROWS, '"saved": expected `object`'),
        ({"given": ROWS}, '"saved": invalid enum value'),
        ({"got": [{"y": []}]}, r'"saved\[...\]\[0\]\[...\]": expected `object`'),
        ({"got": [{"y": {"0": [["result", 7, 0, 0]]}}]}, "expected `str | null`, got `int`"),
        ({"got": [{"y": {"0": [["result", "y", 0]]}}]}, "expected `array` of length 4"),
        ({"got": [{"y": {"0": [["result", "y", -1, 0]]}}]}, "expected `int` >= 0"),
    ]:
        refused(written(tmp_path / "r", program("A.1", saved=saved)), Malformed, 2, message)


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
