"""The lock of a run file: one process writes it."""

from __future__ import annotations

import os
import signal
import time

import made_runs
import pytest
from command import MINIATURE, conform, judge, pytest_suite, started

from conformance.run_files.lock import Locked, locked
from conformance.run_files.reading import read_run

HANGING = ("run", "--backend", "miniature.slow:hanging", "--oracle", "impl", *MINIATURE)


@pytest.mark.fault("two runs on one run file", "both exit 0, one is gone")
@pytest.mark.parametrize(
    "command",
    [
        (*HANGING, "--run-file", "run.jsonl"),
        (*HANGING, "--resume", "run.jsonl"),
        ("merge", "run.jsonl", "-o", "run.jsonl"),
    ],
    ids=["run", "resume", "merge"],
)
def test_no_command_writes_to_a_run_file_that_another_process_writes(tmp_path, command):
    path = made_runs.run_file(tmp_path / "run.jsonl", [made_runs.line("A.1", "leaves")])
    before = path.read_bytes()
    told = f"run.jsonl: another run writes to this file (process {os.getpid()}).\n"
    with locked(path):
        done = conform(*command, cwd=tmp_path)
    assert (done.returncode, done.stderr) == (2, f"conform: {told}")
    assert path.read_bytes() == before


@pytest.mark.fault("two runs on one run file, by pytest", "both exit 0, one is gone")
def test_pytest_does_not_write_to_a_run_file_that_another_process_writes(tmp_path):
    with locked(tmp_path / "run.jsonl"):
        done = pytest_suite("--conform-run-file=run.jsonl", "--conform-oracle=impl", cwd=tmp_path)
    assert done.returncode == 4
    assert f"another run writes to this file (process {os.getpid()})." in done.stderr
    assert os.listdir(tmp_path) == []


def test_a_run_has_its_run_file_for_itself_until_it_ends(tmp_path):
    path = tmp_path / "run.jsonl"
    process = started(*HANGING, "--run-file", path, cwd=tmp_path)
    until = time.monotonic() + 100
    while not path.exists() and process.poll() is None and time.monotonic() < until:
        time.sleep(0.05)
    try:
        with pytest.raises(Locked, match=rf"\(process {process.pid}\)"), locked(path):
            pass
    finally:
        process.send_signal(signal.SIGKILL)
        process.wait(60)
    done = judge("right:namespace", "--run-file", path, cwd=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    assert read_run(path).complete
    assert os.listdir(tmp_path) == ["run.jsonl"]


def test_a_lock_is_one_of_the_file_that_a_link_leads_to(tmp_path):
    (tmp_path / "link").symlink_to(tmp_path / "file")
    second = locked(tmp_path / "file")
    with locked(tmp_path / "link"), pytest.raises(Locked, match=rf"process {os.getpid()}"):
        second.__enter__()
    with locked(tmp_path / "file"):
        pass
    assert os.listdir(tmp_path) == ["link"]
