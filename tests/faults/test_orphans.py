"""The death of the main process: none of the processes that it started outlives it."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from command import MINIATURE, SPEC, environment

FAULTS = Path(__file__).resolve().parent
PATIENCE = 60.0


def alive(mark: str) -> dict[int, str]:
    """The processes, zombies aside, with this text in their first environment, by ID."""
    found = {}
    for place in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if mark.encode() in (place / "environ").read_bytes():
                found[int(place.name)] = (place / "cmdline").read_bytes().decode()
    return found


def await_(condition, mark: str) -> None:
    until = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < until, alive(mark)
        time.sleep(0.05)


def started(mark: str, command: list[str], cwd: Path) -> subprocess.Popen:
    around = environment(ORPHANS=mark)
    around["PYTHONPATH"] = os.pathsep.join([around["PYTHONPATH"], str(FAULTS)])
    return subprocess.Popen(
        command, cwd=cwd, env=around, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )


SCRIPT = """
import sys
from conformance.isolation.child import Child
from conformance.program.program import Program
child = Child("faulty", timeout=600)
child.trace(Program("a", "b", "1", ""))
child.trace(Program("a", "b", sys.argv[1], ""))
"""


@pytest.mark.fault("SIGKILL while a program runs", "processes in C code and daemons went on")
@pytest.mark.parametrize("source", ["torch.hang()", "torch.stuck()", "torch.feed_child(1)"])
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_child(tmp_path, source, number):
    mark = f"orphans{os.urandom(8).hex()}"
    daemon = tmp_path / "daemon"
    text = f"torch.daemon({str(daemon)!r})\n{source}"
    main = started(mark, [sys.executable, "-c", SCRIPT, text], tmp_path)
    await_(daemon.exists, mark)
    time.sleep(0.5)
    assert len(alive(mark)) >= 4  # with the keeper
    main.send_signal(number)
    main.wait()
    await_(lambda: not alive(mark), mark)


PORT = """
import json, signal, sys, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
for line in sys.stdin:
    if json.loads(line)["type"] == "start":
        print(json.dumps({"type": "ready", "protocol": 1, "name": "deaf"}), flush=True)
    else:
        open("asked", "w").close()
        while True:
            time.sleep(1)
"""


@pytest.mark.fault("SIGKILL of a run whose port ignores the end of its input", "the port went on")
@pytest.mark.parametrize("processes", ["0", pytest.param("2", marks=pytest.mark.slow)])
def test_run(tmp_path, processes):
    mark = f"orphans{os.urandom(8).hex()}"
    (tmp_path / "port.py").write_text(PORT)
    options = ["--backend", f"cmd: {sys.executable} port.py", "--oracle", "impl", *MINIATURE]
    command = [sys.executable, "-m", "conformance.cli", "run", *options, "-n", processes]
    main = started(mark, command, tmp_path)
    await_((tmp_path / "asked").exists, mark)
    main.kill()
    main.wait()
    await_(lambda: not alive(mark), mark)
    assert SPEC.exists()
