"""The page of a report: its data, its policy, and how it is written."""

from __future__ import annotations

import base64
import gzip
import hashlib
import json
import os
from pathlib import Path
from typing import Any

import made_runs
import pytest
from html_page import Page

from conformance.run_files.causes import causes
from conformance.run_files.run import Run
from reports.payload import payload
from reports.run import ReportError, page, write


def test_the_page_holds_every_program_without_loss(small_run: Run) -> None:
    blobs = Page(page(small_run)).blobs()
    index, sources = blobs.pop("index"), blobs.pop("sources")
    assert index["id"] == [line["id"] for line in small_run.programs]
    assert sources == [line["source"] for line in small_run.programs]
    stored = [line for name in sorted(blobs) for line in blobs[name]]
    by_id = dict(zip(index["id"], stored, strict=True))
    for line in small_run.programs:
        if line["id"] == "op/amax/ties/int64":
            continue
        assert by_id[line["id"]]["expected"] == line["expected"]
        assert by_id[line["id"]].get("got") == line.get("got")
        assert by_id[line["id"]]["divergences"] == line["divergences"]
    # A browser's numbers end at 2**53.
    x = by_id["op/amax/ties/int64"]["expected"]["steps"][0]["changed"]["x"]
    assert x["values"] == [str(2**63 - 1)]


def test_many_programs_are_spread_over_chunks_that_say_where_they_begin(tmp_path: Path) -> None:
    run = made_runs.read(tmp_path / "run.jsonl", made_runs.many(400))
    made = payload(run, causes(run.programs, run.levels))
    index = json.loads(gzip.decompress(base64.b64decode(made.index)))
    chunks = [json.loads(gzip.decompress(base64.b64decode(chunk))) for chunk in made.chunks]
    assert len(chunks) == len(index["chunks"]) > 1
    starts = [sum(map(len, chunks[:number])) for number in range(len(chunks))]
    assert index["chunks"] == starts
    assert sum(map(len, chunks)) == 400


def test_the_same_run_gives_the_same_bytes(small_run: Run) -> None:
    assert page(small_run) == page(small_run)


def test_nothing_a_backend_says_becomes_markup(small_run: Run) -> None:
    text = page(small_run)
    shown = Page(text)
    scripts = [attributes for tag, attributes in shown.elements if tag == "script"]
    assert [one for one in scripts if not one.get("data-blob")] == [{}, {}]
    assert all(tag != "img" for tag, _ in shown.elements)
    assert "\u202e" not in text and "\x1b" not in text and "\x00" not in text
    assert "\\u202egnp.exe" in shown.text
    assert "{{ 7 * 7 }}" in shown.text
    assert text.count("</noscript>") == 1


def test_the_policy_names_every_inline_text_by_its_hash(small_run: Run) -> None:
    shown = Page(page(small_run))
    (policy,) = (
        attributes["content"]
        for tag, attributes in shown.elements
        if tag == "meta" and attributes.get("http-equiv") == "Content-Security-Policy"
    )
    assert policy is not None and policy.startswith("default-src 'none';")
    inline = [data for attributes, _, data in shown.raw if not attributes.get("data-blob")]
    assert len(inline) == 3
    for data in inline:
        digest = base64.b64encode(hashlib.sha256(data.encode()).digest()).decode()
        assert f"'sha256-{digest}'" in policy
    assert "unsafe" not in policy
    assert not any("style" in attributes for _, attributes in shown.elements)
    assert not any(name.startswith("on") for _, attributes in shown.elements for name in attributes)


def test_the_page_refers_to_nothing_outside_itself(small_run: Run) -> None:
    for _, attributes in Page(page(small_run)).elements:
        assert "src" not in attributes
        assert (attributes.get("href") or "#").startswith("#")


def test_the_report_is_written_where_it_was_asked_for(small_run: Run, tmp_path: Path) -> None:
    path = tmp_path / "new" / "folder" / "report.html"
    assert write(small_run, path) == path
    assert path.read_text("utf-8") == page(small_run)
    assert [entry.name for entry in path.parent.iterdir()] == ["report.html"]


def test_a_failed_write_leaves_the_old_report(
    small_run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "out" / "report.html"
    path.parent.mkdir()
    path.write_text("the old one")

    def full(*_: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(ReportError, match=r"report\.html: cannot be written: No space left"):
        write(small_run, path)
    assert path.read_text() == "the old one"
    assert len(list(path.parent.iterdir())) == 1


def test_a_folder_in_the_way_is_told(small_run: Run, tmp_path: Path) -> None:
    with pytest.raises(ReportError, match="cannot be written"):
        write(small_run, tmp_path)
