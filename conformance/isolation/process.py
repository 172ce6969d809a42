"""Child processes that exchange one JSON object per line, and cannot harm their parent."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import select
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import IO, Any

_POLL = 0.25
_CAPTURE = 1 << 20
_TAIL = 2000
_LONGEST_ANSWER = 256 << 20
_PRINTED = "; it printed last:"


class IsolationError(Exception):
    """A program without a trace because its child process failed; its outcome is `error`."""

    @property
    def reason(self) -> str:
        """The message, for a verdict."""
        return str(self)


class Died(IsolationError):
    """The process ended while it ran the program."""

    @property
    def cause(self) -> str:
        """The manner in which it ended, without its output."""
        return str(self).partition(_PRINTED)[0]


class TimedOut(IsolationError):
    """The program did not end in time; the process was killed."""


class Garbled(IsolationError):
    """The process sent a line that is not an answer."""


class Process:
    """One child process with its two pipes, and a file for its output."""

    def __init__(self, started: Callable[[int, int, IO[bytes]], subprocess.Popen[bytes]]) -> None:
        """``started`` starts it, given the descriptors from which it reads requests and to which it
        writes answers, and the file that it prints to. Raises what ``started`` raises."""
        self._printed: IO[bytes] = tempfile.TemporaryFile(buffering=0)  # noqa: SIM115
        # Appending, so that the file can be truncated while the process writes to it.
        fcntl.fcntl(self._printed.fileno(), fcntl.F_SETFL, os.O_APPEND)
        to_child, self._requests = os.pipe()
        self._answers, from_child = os.pipe()
        self._buffer = b""
        try:
            self._child = started(to_child, from_child, self._printed)
        except BaseException:
            os.close(self._requests)
            os.close(self._answers)
            self._printed.close()
            raise
        finally:
            os.close(to_child)
            os.close(from_child)
        os.set_blocking(self._requests, False)
        os.set_blocking(self._answers, False)

    def ask(self, request: dict[str, Any], timeout: float) -> Any:
        """Send one request and return its answer, both within `timeout` seconds."""
        self._start_clock(timeout)
        os.ftruncate(self._printed.fileno(), 0)
        rest = memoryview(json.dumps(request).encode() + b"\n")
        try:
            while rest:
                try:
                    rest = rest[os.write(self._requests, rest) :]
                except BlockingIOError:
                    self._wait([], [self._requests])
        except BrokenPipeError:
            raise Died(self._end()) from None
        return self._answer()

    def greeting(self, timeout: float) -> Any:
        """Return the line that the process sends unasked, at its start."""
        self._start_clock(timeout)
        return self._answer()

    def _start_clock(self, timeout: float) -> None:
        self._timeout, self._until = timeout, time.monotonic() + timeout

    def _answer(self) -> Any:
        """Return the next line as JSON; raises Died, TimedOut or Garbled."""
        line = self._line()
        try:
            answer = json.loads(line)
        except (ValueError, RecursionError):
            raise Garbled(f"the process answered rubbish: {shortened(line)}{self.tail()}") from None
        if self._buffer:
            raise Garbled(f"the process answered too much: {shortened(self._buffer)}{self.tail()}")
        return answer

    def _line(self) -> bytes:
        while b"\n" not in self._buffer:
            self._wait([self._answers], [])
            try:
                piece = os.read(self._answers, 1 << 20)
            except BlockingIOError:
                continue
            if not piece:
                raise Died(self._end())
            self._buffer += piece
            if len(self._buffer) > _LONGEST_ANSWER:
                raise Garbled(f"the process answered without an end{self.tail()}")
        line, _, self._buffer = self._buffer.partition(b"\n")
        return line

    def _wait(self, readable: list[int], writable: list[int]) -> None:
        while True:
            left = self._until - time.monotonic()
            if left <= 0:
                raise TimedOut(
                    f"no answer within {self._timeout:g} s, so it was killed{self.tail()}"
                )
            ready = select.select(readable, writable, [], min(left, _POLL))
            self._bound()
            if ready[0] or ready[1]:
                return
            # A grandchild may hold the pipe open after the process itself is gone.
            if self._child.poll() is not None:
                ready = select.select(readable, writable, [], 0)
                if not ready[0]:
                    raise Died(self._end())

    def _bound(self) -> None:
        """Cut the file of the process's output, so that it cannot fill the disk."""
        size = os.fstat(self._printed.fileno()).st_size
        if size > _CAPTURE:
            kept = os.pread(self._printed.fileno(), _TAIL, size - _TAIL)
            os.ftruncate(self._printed.fileno(), 0)
            os.write(self._printed.fileno(), kept)

    def _end(self) -> str:
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._child.wait(timeout=1)
        code = self._child.poll()
        if code is None:
            how = "the process closed its pipe and went on"
        elif code < 0:
            how = f"the process was killed by {_signal_name(-code)}"
        else:
            how = f"the process ended with exit code {code}"
        return how + self.tail()

    def tail(self) -> str:
        """Return the end of the process's output, as a clause for a message."""
        descriptor = self._printed.fileno()
        size = os.fstat(descriptor).st_size
        printed = os.pread(descriptor, _TAIL, max(0, size - _TAIL)).decode("utf-8", "replace")
        return f"{_PRINTED}\n{printed.strip()}" if printed.strip() else ""

    def dismiss(self, farewell: dict[str, Any], patience: float) -> None:
        """Ask the process to end and wait up to this many seconds; `close` it afterwards."""
        with contextlib.suppress(OSError, subprocess.TimeoutExpired):
            os.write(self._requests, json.dumps(farewell).encode() + b"\n")
            self._child.wait(timeout=patience)

    def close(self) -> None:
        """Kill the process and all that it started; harmless when repeated."""
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self._child.pid, signal.SIGKILL)
        self._child.wait()
        for descriptor in (self._requests, self._answers):
            with contextlib.suppress(OSError):
                os.close(descriptor)
        self._requests = self._answers = -1
        self._printed.close()


def launched(module: str, options: Sequence[str], **environment: str) -> Process:
    """A process of this Python that runs `module`, which takes ``--requests`` and ``--answers``.

    It imports the modules that this process imports, and leads a group of its own.
    """

    def started(requests: int, answers: int, printed: IO[bytes]) -> subprocess.Popen[bytes]:
        pipes = ["--requests", str(requests), "--answers", str(answers)]
        return subprocess.Popen(
            # -P: the parent's modules come first, not those of the current folder.
            [sys.executable, "-P", "-m", module, *options, *pipes],
            stdin=subprocess.DEVNULL,
            stdout=printed,
            stderr=printed,
            pass_fds=(requests, answers),
            env={**os.environ, "PYTHONPATH": _module_path(), **environment},
            start_new_session=True,
        )

    return Process(started)


def _module_path() -> str:
    """The parent's module path, so that both find the same modules."""
    entries = (str(Path(entry).absolute()) for entry in sys.path)
    return os.pathsep.join(dict.fromkeys(entries))


def _signal_name(number: int) -> str:
    try:
        return f"{signal.Signals(number).name} ({number})"
    except ValueError:
        return f"signal {number}"


def shortened(answer: Any) -> str:
    """Return the beginning of an answer, quoted, for a message."""
    text = answer.decode("utf-8", "replace") if isinstance(answer, bytes) else json.dumps(answer)
    return repr(text if len(text) <= 200 else text[:200] + "...")
