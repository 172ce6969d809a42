"""Signals to single processes of a run."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time

import pytest
from command import MINIATURE, environment, heed_interruption

from conformance.run_files.reading import read_run


def children(pid: int) -> list[int]:
    """The processes that a process has started."""
    done = subprocess.run(["pgrep", "-P", str(pid)], capture_output=True, text=True)
    return [int(word) for word in done.stdout.split()]


@pytest.mark.fault("SIGINT of the workers", "it ended the run")
def test_an_interrupted_worker_ends_no_run(tmp_path):
    path = tmp_path / "run.jsonl"
    command = [sys.executable, "-m", "conformance.cli", "run", *MINIATURE, "--oracle", "impl"]
    command += ["--backend", "miniature.slow:hanging", "--timeout", "8", "-n", "2"]
    process = subprocess.Popen(
        [*command, "--run-file", str(path)],
        cwd=tmp_path,
        env=environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        preexec_fn=heed_interruption,
    )
    until = time.monotonic() + 100
    while time.monotonic() < until and process.poll() is None:
        if path.exists() and path.read_bytes().count(b'"type":"program"') >= 2:
            break
        time.sleep(0.05)
    workers = children(process.pid)
    assert len(workers) >= 2
    for worker in workers:
        os.kill(worker, signal.SIGINT)
    output, _ = process.communicate(timeout=100)
    assert process.returncode == 3, output
    run = read_run(path)
    assert run.complete, output
    (reason,) = [line["reason"] for line in run.programs if line["outcome"] == "error"]
    assert "within 8 s" in reason
