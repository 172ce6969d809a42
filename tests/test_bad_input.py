"""Wrong input to the command: one paragraph with the error and its place, and exit code 2."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from command import MINIATURE, SPEC, conform, judge


def refused(done, *texts: str) -> None:
    """The command exited with 2 and printed one paragraph with these texts and no traceback."""
    assert done.returncode == 2, done.stdout + done.stderr
    for text in texts:
        assert text in done.stderr
    assert done.stderr.startswith(("conform: ", "usage: "))
    assert "Traceback" not in done.stdout + done.stderr
    assert "\n\n" not in done.stderr.strip()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            ("--area", "leafs"),
            "there is no area 'leafs'. Did you mean leaves or laws? There are: leaves,",
        ),
        (("--rule", "LEAF-09"), "there is no rule 'LEAF-09'. Did you mean LEAF-0"),
        (("--rule", "leaf-01"), "there is no rule 'leaf-01'. Did you mean LEAF-01"),
        (("--operator", "amaxx"), "there is no operator 'amaxx'. Did you mean amax"),
        (("--level", "deep"), "there is no level 'deep'. There are: values, graph, memory, diag"),
        (("--dtype", "float31"), "there is no dtype 'float31'. Did you mean float3"),
        (("--id", "LEAF-01.7*"), "there is no program 'LEAF-01.7*'"),
        (("--area", "ties", "--rule", "LEAF-01"), "the selection is empty"),
        (("--known", "nowhere.toml"), "nowhere.toml: cannot be read"),
    ],
)
def test_selection_of_what_does_not_exist(tmp_path, options, message):
    arguments = ("--backend", "impl", "--oracle", "impl", "--spec", SPEC, *options)
    refused(conform("run", *arguments, cwd=tmp_path), message)


@pytest.mark.parametrize(
    "options",
    [
        ("--timeout", "0"),
        ("--timeout", "soon"),
        ("--seed", "x"),
        ("-n", "some"),
        ("-n", "-1"),
        ("--no-such-option",),
        ("--back", "impl"),
    ],
)
def test_wrong_usage(tmp_path, options):
    done = conform("run", *options, cwd=tmp_path)
    assert done.returncode == 2
    assert done.stderr.startswith("usage: conform")


def test_no_command(tmp_path):
    done = conform(cwd=tmp_path)
    assert done.returncode == 2
    assert "usage: conform" in done.stderr


BACKENDS = {
    "no_such_port": "no_such_port cannot be imported",
    "miniature.nowhere:namespace": "miniature.nowhere cannot be imported",
    "miniature.right:nothing": "has no 'nothing'",
    "miniature.broken:namespace": "RuntimeError: this miniature is broken on purpose",
    "torch:no_such_device": "torch knows no device 'no_such_device'",
    "not a name!": "is not the name of a backend",
    "json:dumps": "backend 'json:dumps'",
}
ISOLATED = {
    "miniature.dying:namespace": "exit code 3",
    "miniature.sleeping:namespace": "no answer within 3 s",
}
"""Backends that end the process that imports them."""


@pytest.mark.parametrize(
    ("backend", "isolation"),
    [*((name, True) for name in BACKENDS | ISOLATED), *((name, False) for name in BACKENDS)],
)
def test_backend_that_cannot_be_had(tmp_path, backend, isolation):
    run_file = tmp_path / "r"
    run_file.write_text("an earlier run")
    options = ["--oracle", "impl", *MINIATURE, "--run-file", run_file]
    options += ["--start-timeout", "3"] if backend in ISOLATED else []
    options += [] if isolation else ["--no-isolation"]
    done = conform("run", "--backend", backend, *options, cwd=tmp_path)
    refused(done, (BACKENDS | ISOLATED)[backend])
    assert run_file.read_text() == "an earlier run"


def test_import_that_cannot_be_had(tmp_path):
    refused(judge("right:namespace", "--import", "no_such_module", cwd=tmp_path), "no_such_module")


def chapter(tmp_path: Path, text: str) -> Path:
    folder = tmp_path / "spec"
    folder.mkdir(exist_ok=True)
    (folder / "01-leaves.md").write_text(text)
    return folder


RULE = "# Leaves\n\n## LEAF-01 A rule\n\n```python\nx = torch.ones(1)\n```\n"


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        (RULE + "\n## LEAF-01 Again\n\n```python\ny = 1\n```\n", 9, "LEAF-01"),
        (RULE + "\n## LEAF-02 Without an example\n\nProse.\n", 9, "LEAF-02"),
        (RULE + "\n## LEAF-02 Broken\n\n```python\ny = (1\n```\n", 12, "LEAF-02"),
        (RULE + "\n## No identifier\n\n```python\ny = 1\n```\n", 9, "No identifier"),
        ("", 1, "title"),
    ],
)
def test_malformed_chapter(tmp_path, text, line, message):
    options = ("--backend", "impl", "--oracle", "impl", "--spec", chapter(tmp_path, text))
    for command in (("run", *options), ("list", *options[-2:]), ("show", "LEAF-01.1", *options)):
        refused(conform(*command, cwd=tmp_path), f"01-leaves.md:{line}: ", message)


def test_folder_without_chapters(tmp_path):
    refused(conform("list", "--spec", tmp_path, cwd=tmp_path), "no chapter")
    refused(conform("list", "--spec", "nowhere", cwd=tmp_path), "nowhere")


def test_show_of_what_does_not_exist(tmp_path):
    done = conform("show", "LEAF-01.9", "--spec", SPEC, cwd=tmp_path)
    refused(done, "there is no program 'LEAF-01.9'. Did you mean LEAF-0")


@pytest.mark.parametrize(
    ("edit", "message"),
    [
        (lambda text: "", "the file is empty"),
        (lambda text: "hello\n", "r.jsonl:1: not JSON"),
        (lambda text: text[:-40], "r.jsonl:7: the line breaks off"),
        (lambda text: text.replace('"schema":3', '"schema":99'), ".jsonl:1: the run has schema 99"),
        (lambda text: text + text, ".jsonl:8: a line after the footer"),
        (lambda text: text.replace('"area"', '"aria"', 1), ".jsonl:1"),
    ],
)
def test_report_of_a_broken_run_file(tmp_path, edit, message):
    judge("right:namespace", "--run-file", "good", cwd=tmp_path)
    text = (tmp_path / "good").read_text("utf-8")
    if message == ".jsonl:1":
        text, message = text.replace('"header"', '"x"', 1), "r.jsonl:1: not a run file"
    else:
        text = edit(text)
    (tmp_path / "r.jsonl").write_text(text, "utf-8")
    refused(conform("report", "r.jsonl", "-o", "out.html", cwd=tmp_path), message)
    assert not (tmp_path / "out.html").exists()


def test_report_of_a_missing_run_file(tmp_path):
    refused(conform("report", "nowhere", "-o", "out.html", cwd=tmp_path), "nowhere: cannot be read")


@pytest.mark.parametrize("option", ["--run-file", "--report"])
def test_place_that_cannot_be_written(tmp_path, option):
    refused(judge("right:namespace", option, tmp_path, cwd=tmp_path), "cannot be written")
    (tmp_path / "file").write_text("")
    below = tmp_path / "file" / "below"
    refused(judge("right:namespace", option, below, cwd=tmp_path), "cannot be written")


def test_interrupted_run_can_be_reported(tmp_path):
    judge("right:namespace", "--run-file", "r.jsonl", cwd=tmp_path)
    lines = (tmp_path / "r.jsonl").read_bytes().split(b"\n")
    (tmp_path / "r.jsonl").write_bytes(b"\n".join(lines[:4]) + b"\n")
    done = conform("report", "r.jsonl", "-o", "out.html", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "interrupted" in done.stdout
    assert os.path.getsize(tmp_path / "out.html") > 1000
