"""Forked processes: copies of this one, with all that it has imported, that answer requests."""

from __future__ import annotations

import json
import os
import subprocess
import time
import traceback
from collections.abc import Callable
from typing import IO, Any

from conformance.isolation.process import Process

_HIGHEST_DESCRIPTOR = 1 << 20
_POLL = 0.005

Answer = Callable[[dict[str, Any]], dict[str, Any]]


class _Forked(subprocess.Popen[bytes]):
    """A child by fork, with the methods of Popen that `Process` calls."""

    def __init__(self, pid: int) -> None:
        self.pid = pid
        self.returncode: Any = None

    def poll(self) -> int | None:
        if self.returncode is None:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                self.returncode = os.waitstatus_to_exitcode(status)
        return self.returncode

    def wait(self, timeout: float | None = None) -> int:
        until = None if timeout is None else time.monotonic() + timeout
        while self.poll() is None:
            if until is not None and time.monotonic() > until:
                raise subprocess.TimeoutExpired("a forked process", timeout or 0)
            time.sleep(_POLL)
        return self.returncode

    def __del__(self, *_: Any) -> None:
        """Nothing: the process is ended by `Process.close`."""


def fork(begin: Callable[[], Answer]) -> Process:
    """A copy of this process that calls `begin`, and answers requests with the function returned.

    This process must have one thread only. An exception of `begin` ends the copy; one of the
    function is its answer.
    """

    return copied(lambda requests, answers: _serve(begin, requests, answers))


def copied(serve: Callable[[int, int], object], memory: int | None = None) -> Process:
    """A copy of this process that calls `serve` with the descriptors of requests and answers.

    This process must have one thread only. ``memory`` is how many bytes the copy may use.
    """

    def started(requests: int, answers: int, printed: IO[bytes]) -> _Forked:
        pid = os.fork()
        if pid:
            return _Forked(pid)
        code = 1
        try:
            os.setsid()
            _keep(requests, answers, printed.fileno())
            serve(requests, answers)
            code = 0
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(code)

    return Process(started, memory)


def _keep(requests: int, answers: int, printed: int) -> None:
    """Close all other descriptors, and send printed text to the file of the output."""
    nothing = os.open(os.devnull, os.O_RDONLY)
    for source, target in ((nothing, 0), (printed, 1), (printed, 2)):
        os.dup2(source, target)
    low = 3
    for kept in sorted((requests, answers)):
        os.closerange(low, kept)
        low = kept + 1
    os.closerange(low, _HIGHEST_DESCRIPTOR)


def _serve(begin: Callable[[], Answer], requests: int, answers: int) -> None:
    answer = begin()
    with open(requests, "rb") as asked, open(answers, "wb", buffering=0) as answered:
        for line in asked:
            try:
                result = answer(json.loads(line))
            except Exception as error:
                result = {"failed": f"{type(error).__name__}: {error}"}
            data = memoryview(json.dumps(result).encode() + b"\n")
            while data:
                data = data[answered.write(data) :]
