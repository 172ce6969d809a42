"""Outputs that cannot be written: found before anything runs, or told at the end with code 4."""

from __future__ import annotations

import os
import pty
import resource
import socket
import stat
from contextlib import contextmanager

import made_runs
import pytest
from command import MINIATURE, conform, ended, judge

from conformance.base.outputs import OutputError, replacing, try_writing, write_text, writing
from conformance.run_files.reading import read_run
from conformance.run_files.writing import RunWriter

OUTPUTS = ("--run-file", "--report", "--junit", "--summary")


@pytest.fixture(params=["directory", "pipe", "socket", "device"])
def special(request, tmp_path):
    """The path of something that is no file, and its kind in a message."""
    path = tmp_path / "special"
    match request.param:
        case "directory":
            path.mkdir()
            yield path, "a directory"
        case "pipe":
            os.mkfifo(path)
            yield path, "a pipe"
        case "socket":
            with socket.socket(socket.AF_UNIX) as listening:
                listening.bind(str(path))
                yield path, "a socket"
        case "device":
            mine, other = pty.openpty()
            path.symlink_to(os.ttyname(other))
            yield path, "a device"
            os.close(mine)
            os.close(other)


@pytest.mark.fault("an output that is no file", "/dev/null was destroyed, exit 0")
def test_what_is_no_file_is_neither_replaced_nor_written(special):
    path, kind = special
    before = stat.S_IFMT(path.stat().st_mode)
    for write in (try_writing, lambda path: write_text(path, "text")):
        with pytest.raises(OSError, match=f"it is {kind}, not a file"):
            write(path)
    assert stat.S_IFMT(path.stat().st_mode) == before
    assert os.listdir(path.parent) == ["special"]


@pytest.mark.fault("a run with an output that is no file", "/dev/null was destroyed, exit 0")
@pytest.mark.parametrize("option", OUTPUTS)
def test_a_run_does_not_begin_where_an_output_is_no_file(tmp_path, option):
    os.mkfifo(tmp_path / "pipe")
    done = judge("right:namespace", option, "pipe", cwd=tmp_path)
    assert done.returncode == 2
    assert done.stderr == "conform: pipe: cannot be written: it is a pipe, not a file.\n"
    assert done.stdout == ""


@pytest.mark.fault("a command with an output that is a pipe", "it was replaced, exit 0")
@pytest.mark.parametrize(
    "command",
    [
        ("record", "pipe.jsonl", "--oracle", "impl"),
        ("report", "run.jsonl", "-o", "pipe.jsonl"),
        ("merge", "run.jsonl", "-o", "pipe.jsonl"),
        ("frameworks", "run.jsonl", "-o", "pipe.jsonl"),
        ("versions", "--json", "pipe.jsonl"),
        ("mutants", "--json", "pipe.jsonl"),
    ],
    ids=lambda command: command[0],
)
def test_no_command_replaces_a_pipe(tmp_path, command):
    judge("right:namespace", "--run-file", "run.jsonl", cwd=tmp_path)
    os.mkfifo(tmp_path / "pipe.jsonl")
    done = conform(*command, cwd=tmp_path)
    assert done.returncode == 2, done.stdout + done.stderr
    assert "pipe.jsonl: cannot be written: it is a pipe, not a file." in done.stderr
    assert stat.S_ISFIFO((tmp_path / "pipe.jsonl").stat().st_mode)


@pytest.mark.fault("an output that is a link", "it was replaced by a file")
def test_a_link_is_followed_to_a_file_that_need_not_be_there(tmp_path):
    link = tmp_path / "link"
    link.symlink_to(tmp_path / "there" / "target")
    for text in ("first", "second"):
        write_text(link, text)
        assert link.is_symlink()
        assert (tmp_path / "there" / "target").read_text() == text
    assert os.listdir(tmp_path / "there") == ["target"]


def test_permissions_stay_and_are_the_usual_ones_at_first(tmp_path):
    path = tmp_path / "file"
    before = os.umask(0o027)
    try:
        write_text(path, "first")
    finally:
        os.umask(before)
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    path.chmod(0o604)
    write_text(path, "second")
    assert stat.S_IMODE(path.stat().st_mode) == 0o604


def test_a_failure_in_the_middle_leaves_the_former_file(tmp_path):
    path = tmp_path / "file"
    path.write_text("former")
    with pytest.raises(ZeroDivisionError), replacing(path) as file:
        file.write(b"half")
        file.write(bytes(1 // 0))
    assert path.read_text() == "former"
    assert os.listdir(tmp_path) == ["file"]


def test_the_longest_name_can_be_written(tmp_path):
    path = tmp_path / ("n" * 255)
    write_text(path, "text")
    try_writing(path)
    assert path.read_text() == "text"


def test_an_error_names_the_file_and_the_reason(tmp_path):
    with pytest.raises(OutputError, match="file/below: cannot be written: Not a directory"):
        (tmp_path / "file").write_text("")
        with writing(tmp_path / "file" / "below"):
            write_text(tmp_path / "file" / "below", "text")


@contextmanager
def file_size_limit(size: int):
    """No file of this process grows beyond so many bytes, as if the disk were full."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


@pytest.mark.fault("a disk that is full for a while", "a traceback with exit code 1")
def test_lines_that_a_full_disk_refuses_are_written_later(tmp_path):
    lines = [made_runs.line(f"A.{number}", "leaves") for number in range(6)]
    path = tmp_path / "run.jsonl"
    writer = RunWriter(path, made_runs.header(programs=6), [line["id"] for line in lines])
    writer.write(lines[0])
    with file_size_limit(path.stat().st_size + 100):
        writer.write(lines[1])
        writer.write(lines[2])
        assert [line["id"] for line in read_run(path).programs] == ["A.0"]
        with pytest.raises(OSError, match="File too large"):
            writer.abandon()
        assert os.listdir(tmp_path) == ["run.jsonl"]
        assert [line["id"] for line in read_run(path).programs] == ["A.0"]
    writer = RunWriter(path, made_runs.header(programs=6), (), lines[:1])
    with file_size_limit(path.stat().st_size + 100):
        writer.write(lines[1])
    writer.write(lines[2])
    assert [line["id"] for line in read_run(path).programs] == ["A.0", "A.1", "A.2"]
    writer.abandon()
    assert len(read_run(path).programs) == 3


@pytest.mark.fault("a disk that fills up in a run", "a traceback with exit code 1, and no report")
def test_a_disk_that_fills_up_in_a_run(tmp_path):
    asked = ("--run-file", "r.jsonl", "--report", "r.html", "--junit", "r.xml")
    suite = ("run", "--backend", "impl", "--oracle", "impl", "--area", "leaves")
    done = ended(*suite, *asked, cwd=tmp_path, limits={"RLIMIT_FSIZE": 80 << 10})
    assert done.returncode == 4, done.stdout + done.stderr
    assert "Traceback" not in done.stdout + done.stderr
    assert "the run file r.jsonl was not written: File too large; the lines " in done.stdout
    assert "the report r.html was not written: " in done.stdout
    assert "File too large" in done.stdout
    assert sorted(os.listdir(tmp_path)) == ["r.jsonl", "r.xml"]
    run = read_run(tmp_path / "r.jsonl")
    assert run.programs and not run.complete
    done = conform(*suite, "--resume", "r.jsonl", cwd=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    assert read_run(tmp_path / "r.jsonl").complete


@pytest.mark.fault("too few descriptors", "a traceback with exit code 1")
@pytest.mark.parametrize("descriptors", [9, 14, 20])
def test_too_few_descriptors(tmp_path, descriptors):
    suite = ("run", "--backend", "impl", "--oracle", "impl", *MINIATURE)
    limits = {"RLIMIT_NOFILE": descriptors}
    done = ended(*suite, "--run-file", "r.jsonl", cwd=tmp_path, limits=limits)
    assert done.returncode in (0, 2, 3, 4), done.stdout + done.stderr
    assert "Traceback" not in done.stdout + done.stderr
