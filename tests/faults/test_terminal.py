"""Text that a backend could harm a terminal or a CI with, and streams that cannot be written."""

from __future__ import annotations

import io
import os
import re

import made_runs
import pytest
from command import MINIATURE, conform, ended, pytest_suite
from made_files import HOSTILE, HOSTILE_PORT

from conformance.base.escapes import harmless, printable, without_commands
from conformance.base.streams import Stream

RUN = ("run", "--backend", "miniature.wrong:values", "--oracle", "impl", *MINIATURE)
COMMAND = re.compile(r"##\[|##vso\[|##teamcity\[|^\s*::", re.MULTILINE)


def is_harmless(text: str) -> bool:
    """Whether nothing in the text acts on a terminal or a CI."""
    return COMMAND.search(text) is None and all(
        char.isprintable() or char in "\n\t" for char in text
    )


@pytest.mark.parametrize("text", HOSTILE)
def test_escapes_leave_nothing_that_acts(text):
    assert not is_harmless(text)
    assert is_harmless(harmless(text))
    assert harmless(harmless(text)) == harmless(text)
    assert printable(text).isprintable()


@pytest.mark.parametrize(
    "text", ["plain", "a::b", "C++ std::move", "# title", "## [link]", "1:2", "tab\tand\nline"]
)
def test_usual_text_stays_as_it_is(text):
    assert harmless(text) == text


def test_a_command_in_pieces_is_one():
    for pieces in (["::", "error::x"], [":", ":error::x"], ["  ", "::error::x"], ["x\n", "::e::"]):
        file = io.StringIO()
        stream = Stream(file)
        for piece in pieces:
            stream.write(piece)
        assert is_harmless(file.getvalue()), pieces
    assert without_commands("::error::", starts=False) == "::error::"


def commands(run_file: str):
    """Every command that shows text of a backend, a run file or a recording."""
    backend = ("--backend", HOSTILE_PORT, "--oracle", "impl")
    yield ("run", *backend, *MINIATURE)
    yield ("run", *backend, *MINIATURE, "--no-isolation")
    yield ("show", "LEAF-01.1", *backend, *MINIATURE[:2])
    yield ("show", "LEAF-01.1", *backend, *MINIATURE[:2], "--json")
    yield ("run", "--backend", "made_files:import_error", "--oracle", "impl", *MINIATURE)
    yield ("run", "--backend", "impl", "--oracle", "made_files:import_error", *MINIATURE)
    yield ("run", "--backend", "cmd: \x1b[31m\n::error::", "--oracle", "impl", *MINIATURE)
    yield ("fuzz", *backend, "--examples", "1", "--theme", "writes", "--no-keep")
    yield ("versions", "--backend", HOSTILE_PORT, *MINIATURE)
    yield ("merge", run_file, "-o", "merged.jsonl", *MINIATURE[:2])
    yield ("report", run_file, "-o", "report.html")
    yield ("diff", run_file, "other.jsonl")
    yield ("dashboard", ".", "site")
    yield ("run", "--resume", run_file, *backend, *MINIATURE)
    yield ("report", "bad\x1b[31m\n::error::.jsonl", "-o", "report.html")


def hostile_run(path, **fields):
    """A run file with hostile text in each of its texts."""
    text = "".join(HOSTILE)
    lines = [
        made_runs.diverging("A.1", "leaves", sentence=text),
        made_runs.diverging(text, "leaves"),
        made_runs.uncompared("A.3", "leaves", "error", text),
        made_runs.uncompared("A.4", "leaves", "unsupported", text),
        made_runs.diverging("A.5", "leaves", known={"reason": text, "link": text}),
        made_runs.line("A.6", "leaves", **fields),
    ]
    backend = {"name": text, "version": text, "device": text}
    return made_runs.run_file(path, lines, stale=(text,), backend=backend, oracle=backend)


@pytest.mark.fault("text of a backend that acts in a terminal or a CI log", "it acted")
def test_no_command_prints_what_acts(tmp_path):
    hostile_run(tmp_path / "run.jsonl")
    hostile_run(tmp_path / "other.jsonl", outcome="error", reason="::error::\x1b")
    (tmp_path / "bad\x1b[31m\n::error::.jsonl").write_text("\x1b::error::")
    shown = 0
    for arguments in commands("run.jsonl"):
        done = conform(*arguments, cwd=tmp_path)
        assert "Traceback" not in done.stderr, (arguments, done.stderr)
        assert is_harmless(done.stdout + done.stderr), arguments
        shown += r"\x1b" in done.stdout + done.stderr
    assert shown > 9


@pytest.mark.fault("the same under pytest", "it acted")
def test_pytest_prints_nothing_that_acts(tmp_path):
    options = (f"--conform-backend={HOSTILE_PORT}", "--conform-oracle=impl", "-k", "LEAF", "-rA")
    done = pytest_suite(*options, cwd=tmp_path)
    assert r"\x1b" in done.stdout
    assert is_harmless(done.stdout.replace("::test_program", ""))


@pytest.mark.fault("a full standard output", "a traceback with exit code 1")
@pytest.mark.parametrize("command", [("list", *MINIATURE), ("--help",), RUN])
def test_full_standard_output_is_told(tmp_path, command):
    with open("/dev/full", "w") as full:
        done = ended(*command, streams=(None, full), cwd=tmp_path)
    assert done.returncode == (1 if command is RUN else 4)
    assert done.stderr == (
        "conform: standard output could not be written: No space left on device\n"
    )


@pytest.mark.fault(
    "a run with a full standard output", "a traceback with exit code 1, and no report"
)
def test_a_run_whose_output_is_full_still_writes_its_files(tmp_path):
    with open("/dev/full", "w") as full:
        options = ("--run-file", "r.jsonl", "--report", "r.html", "--junit", "r.xml")
        done = ended(*RUN, *options, streams=(None, full), cwd=tmp_path)
    assert done.returncode == 1
    assert sorted(os.listdir(tmp_path)) == ["r.html", "r.jsonl", "r.xml"]
    assert "footer" in (tmp_path / "r.jsonl").read_text().splitlines()[-1]


@pytest.mark.fault("closed descriptors", "a traceback with exit code 1")
@pytest.mark.parametrize("closed", [(1,), (0, 1), (0, 1, 2)])
def test_closed_descriptors(tmp_path, closed):
    options = ("--backend", "impl", "--oracle", "impl", "--run-file", "r.jsonl")
    done = ended(*RUN[:1], *options, *MINIATURE, cwd=tmp_path, closed=closed)
    assert done.returncode == 4, done.stderr
    if 2 not in closed:
        assert done.stderr == "conform: standard output could not be written: it is closed\n"
    # None of the run's files got the descriptor of a stream.
    assert '"type":"header"' in (tmp_path / "r.jsonl").read_text().splitlines()[0]


@pytest.mark.fault("a reader that closes the pipe", "a traceback with exit code 1")
@pytest.mark.parametrize("command", [("list",), RUN])
def test_a_reader_that_has_enough_ends_nothing(tmp_path, command):
    reading, writing = os.pipe()
    os.close(reading)
    with open(writing, "w") as pipe:
        done = ended(*command, streams=(None, pipe), cwd=tmp_path)
    assert done.returncode == (1 if command is RUN else 0), done.stderr
    assert done.stderr == ""
