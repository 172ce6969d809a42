"""A run distributed over other interpreters, on this machine or over a socket."""

from __future__ import annotations

import socket
import subprocess
import sys
import time

import pytest
from command import environment, judge
from test_cli import outcomes


@pytest.fixture
def server(tmp_path):
    """The address of an interpreter that runs programs sent to it, in a folder of its own."""
    with socket.socket() as free:
        free.bind(("localhost", 0))
        address = f"localhost:{free.getsockname()[1]}"
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    process = subprocess.Popen(
        [sys.executable, "-u", "-m", "execnet.script.socketserver", address],
        cwd=elsewhere,
        env=environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    assert process.stdout is not None
    assert "Accept loop" in process.stdout.readline()
    yield address
    process.kill()
    process.communicate()


def test_run_over_a_socket_and_another_interpreter(server, tmp_path):
    machines = ("--tx", f"socket={server}", "--tx", f"popen//python={sys.executable}")
    done = judge("wrong:values", *machines, "--run-file", tmp_path / "r", cwd=tmp_path)
    assert done.returncode == 1, done.stdout + done.stderr
    found = outcomes(tmp_path / "r")
    assert len(found) == 5
    assert [name for name, outcome in found.items() if outcome == "diverges"] == ["LEAF-02.1"]


def test_machine_that_is_not_there_ends_the_run_at_once(tmp_path):
    begin = time.monotonic()
    done = judge("right:namespace", "--tx", "socket=localhost:1", cwd=tmp_path)
    assert done.returncode == 2, done.stdout + done.stderr
    assert "conform: a worker cannot be started:" in done.stdout
    assert "INTERNALERROR" not in done.stdout + done.stderr
    assert time.monotonic() - begin < 60


def test_processes_and_machines_exclude_each_other(tmp_path):
    done = judge("right:namespace", "-n", "2", "--tx", "popen", cwd=tmp_path)
    assert done.returncode == 2
    assert "-n and --tx exclude each other" in done.stderr
