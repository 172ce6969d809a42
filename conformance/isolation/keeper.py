"""The keeper: a small process that outlives this one, and then ends all that this one started.

A process that is killed cannot clean up. The keeper reads a pipe to which only this process holds
the other end; when the pipe is closed, by whatever end of this process, the keeper kills the
process groups and runs the commands that it was told of, and kills every process that has its mark
in the environment: that one has left its group. This file is the keeper's script, too, which
imports no other module of the suite.
"""

from __future__ import annotations

import atexit
import contextlib
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, BinaryIO

MARK = "CONFORM_KEEPERS"
"""The variable whose value has the marks of the keepers of a process and of its ancestors."""

_SWEEPS = 100
_PAUSE = 0.02


class _Keeper:
    """The keeper of this process, which is started by the first call."""

    def __init__(self) -> None:
        self.owner = os.getpid()
        self._things: set[str] = set()
        self._lock = threading.RLock()
        self._mark = os.urandom(8).hex()
        self._script: subprocess.Popen[bytes] | None = None
        os.environ[MARK] = ":".join(filter(None, (os.environ.get(MARK), self._mark)))
        atexit.register(self._end)

    def tell(self, sign: str, thing: int | Sequence[str]) -> None:
        """Tell the script of a group or command that begins (``+``) or has ended (``-``)."""
        text = json.dumps(thing)
        with self._lock:
            self._things = self._things | {text} if sign == "+" else self._things - {text}
            try:
                self._write(f"{sign}{text}\n")
            except OSError:
                # The script was killed: another one takes over.
                self._script = None
                with contextlib.suppress(OSError):
                    self._write("".join(f"+{one}\n" for one in self._things))

    def start(self) -> None:
        """Start the script, unless it runs."""
        with self._lock:
            if self._script is None:
                self._script = subprocess.Popen(
                    [sys.executable, "-I", "-S", __file__, self._mark],
                    stdin=subprocess.PIPE,
                    stdout=subprocess.DEVNULL,
                    stderr=subprocess.DEVNULL,
                    cwd="/",
                    start_new_session=True,
                    bufsize=0,
                )

    def _write(self, text: str) -> None:
        self.start()
        assert self._script is not None and self._script.stdin is not None
        self._script.stdin.write(text.encode())

    def _end(self) -> None:
        """Let the script end, where this process ends by itself."""
        if self._script is not None and self.owner == os.getpid():
            with contextlib.suppress(OSError, subprocess.TimeoutExpired):
                self._script.communicate(timeout=_SWEEPS * _PAUSE)


_keeper: _Keeper | None = None


def _mine() -> _Keeper:
    """The keeper of this process: a copy by fork has one of its own."""
    global _keeper
    if _keeper is None or _keeper.owner != os.getpid():
        _keeper = _Keeper()
    return _keeper


def start() -> None:
    """Start the keeper, so that it marks whatever this process starts from now on."""
    _mine().start()


def keep(thing: int | Sequence[str]) -> None:
    """Have a process group killed, or a command run, when this process ends, however it does."""
    _mine().tell("+", thing)


def release(thing: int | Sequence[str]) -> None:
    """Forget a group that has ended, or a command that is not needed any more."""
    _mine().tell("-", thing)


def _told(pipe: BinaryIO) -> list[Any]:
    """The groups and commands that are left when the pipe is closed."""
    things: set[bytes] = set()
    for line in pipe:
        text = line[1:]
        things = things | {text} if line[:1] == b"+" else things - {text}
    return [json.loads(text) for text in things]


def _marked(mark: bytes) -> Iterator[int]:
    """The processes other than this one with this mark in the environment they began with."""
    for place in Path("/proc").glob("[0-9]*/environ"):
        with contextlib.suppress(OSError):
            if int(place.parent.name) != os.getpid() and mark in place.read_bytes():
                yield int(place.parent.name)


def _kill(pid: int, groups: bool = False) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        (os.killpg if groups else os.kill)(pid, signal.SIGKILL)


def _sweep(things: list[Any], mark: bytes) -> None:
    """Kill the groups, run the commands, and kill all that is marked until there is none."""
    for thing in things:
        if isinstance(thing, int):
            _kill(thing, groups=True)
        else:
            with contextlib.suppress(OSError):
                subprocess.run(thing, env=_unmarked(), stdin=subprocess.DEVNULL)
    for _ in range(_SWEEPS):
        found = list(_marked(mark))
        for pid in found:
            _kill(pid)
        if not found:
            return
        time.sleep(_PAUSE)


def _unmarked() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if name != MARK}


if __name__ == "__main__":
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    _sweep(_told(sys.stdin.buffer), sys.argv[1].encode())
