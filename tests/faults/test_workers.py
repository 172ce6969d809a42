"""Signals to single processes of a run."""

from __future__ import annotations

import os
import signal
import subprocess
import time

import pytest
from command import MINIATURE, started

from conformance.run_files.reading import read_run


def children(pid: int) -> list[int]:
    """The processes that a process has started, in order."""
    done = subprocess.run(["pgrep", "-P", str(pid)], capture_output=True, text=True)
    return [int(word) for word in done.stdout.split()]


@pytest.mark.fault("SIGINT of the workers", "it ended the run")
def test_an_interrupted_worker_ends_no_run(tmp_path):
    path = tmp_path / "run.jsonl"
    options = ("--backend", "miniature.slow:hanging", "--oracle", "impl", "--timeout", "8")
    with (tmp_path / "output").open("w+") as output:
        process = started(
            *("run", *MINIATURE, *options, "-n", "2", "--run-file", path),
            cwd=tmp_path,
            streams=(None, output, output),
        )
        until = time.monotonic() + 100
        while time.monotonic() < until and process.poll() is None:
            if path.exists() and path.read_bytes().count(b'"type":"program"') >= 2:
                break
            time.sleep(0.05)
        nursery, *_ = children(process.pid)
        workers = children(nursery)
        assert len(workers) == 2
        for worker in workers:
            os.kill(worker, signal.SIGINT)
        code = process.wait(100)
        told = (tmp_path / "output").read_text()
    assert code == 3, told
    run = read_run(path)
    assert run.complete, told
    (reason,) = [line["reason"] for line in run.programs if line["outcome"] == "error"]
    assert "within 8 s" in reason
