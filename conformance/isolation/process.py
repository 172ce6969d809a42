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
from collections.abc import Callable, Container, Iterable, Sequence
from pathlib import Path
from typing import IO, Any

from conformance.isolation import keeper
from conformance.isolation.memory import resident, size_text

_POLL = 0.25
_WATCH = 0.05
_CAPTURE = 1 << 20
_HEAD = 800
_TAIL = 2000
_PIECE = 1 << 20
LONGEST_ANSWER = 64 << 20
"""Bytes that one answer may have."""

DEEPEST_ANSWER = 100
"""Arrays and objects that may stand one within another in an answer."""

_SHOWN = 200
_PRINTED = "; it printed:"


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


class Oversized(IsolationError):
    """The process used more memory than it may; it was killed."""


class Garbled(IsolationError):
    """The process sent a line that is not an answer."""


class Process:
    """One child process with its two pipes, and a file for its output.

    `ask` is `send`, and then `answer`. Several processes that were sent requests work at the same
    time; `await_answers` waits for all of them.
    """

    def __init__(
        self,
        started: Callable[[int, int, IO[bytes]], subprocess.Popen[bytes]],
        memory: int | None = None,
        log: IO[bytes] | None = None,
    ) -> None:
        """``started`` starts it, given the descriptors from which it reads requests and to which it
        writes answers, and the file that it prints to. Raises what ``started`` raises.

        ``memory`` is how many bytes it may use, with all that it starts. ``log`` gets each request,
        as a line after ``> ``, each answer after ``< ``, and each failure after ``! ``.
        """
        self._log = log
        self._printed: IO[bytes] = tempfile.TemporaryFile(buffering=0)  # noqa: SIM115
        # Appending, so that the file can be truncated while the process writes to it.
        fcntl.fcntl(self._printed.fileno(), fcntl.F_SETFL, os.O_APPEND)
        to_child, self._requests = os.pipe()
        self._answers, from_child = os.pipe()
        self._memory = memory
        self._watched = 0.0
        keeper.start()  # before the process, which is to have its mark
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
        keeper.keep(self._child.pid)
        os.set_blocking(self._requests, False)
        os.set_blocking(self._answers, False)

    def ask(self, request: dict[str, Any], timeout: float) -> Any:
        """Send one request and return its answer, both within `timeout` seconds.

        Raises Died, TimedOut, Oversized or Garbled.
        """
        self.send(request, timeout)
        return self.answer()

    def greeting(self, timeout: float) -> Any:
        """Return the line that the process sends unasked, at its start; raises as `ask` does."""
        self._begin(b"", timeout)
        return self.answer()

    def send(self, request: dict[str, Any], timeout: float) -> None:
        """Begin to send a request; its answer is due within `timeout` seconds from now."""
        self._begin(json.dumps(request).encode() + b"\n", timeout)
        os.ftruncate(self._printed.fileno(), 0)
        self.advance({self._requests})

    def answer(self) -> Any:
        """Return the answer to the request that was sent, waiting for it; raises as `ask` does."""
        await_answers((self,))
        if self._fault is not None:
            self._logged(b"! ", str(self._fault).encode())
            raise self._fault
        line, _, rest = b"".join(self._pieces).partition(b"\n")
        self._logged(b"< ", line)
        try:
            answer = json.loads(line)
        except (ValueError, RecursionError):
            raise Garbled(f"the process answered rubbish: {shortened(line)}{self.tail()}") from None
        if _is_deeper(answer, DEEPEST_ANSWER):
            raise Garbled(
                f"the process answered something nested deeper than {DEEPEST_ANSWER} levels: "
                f"{shortened(line)}{self.tail()}"
            )
        if rest:
            raise Garbled(f"the process answered too much: {shortened(rest)}{self.tail()}")
        return answer

    def _logged(self, mark: bytes, text: bytes) -> None:
        if self._log is not None:
            with contextlib.suppress(OSError):  # a full disk costs the log, and no program
                self._log.write(mark + text.replace(b"\n", b"\n" + mark) + b"\n")

    def _begin(self, message: bytes, timeout: float) -> None:
        if message:
            self._logged(b"> ", message.rstrip(b"\n"))
        self._timeout, self._begun = timeout, time.monotonic()
        self._unsent = memoryview(message)
        self._pieces: list[bytes] = []
        self._length = 0
        self._fault: IsolationError | None = None
        self.is_settled = False
        self.seconds = 0.0

    def patience(self) -> float:
        """The seconds after which to look at the process again, if it says nothing."""
        return min(self._left(), _POLL if self._memory is None else _WATCH)

    def _left(self) -> float:
        """The seconds until the answer is due."""
        return self._begun + self._timeout - time.monotonic()

    def register(self, poll: select.poll) -> None:
        """Register the descriptors that it waits for."""
        poll.register(self._answers, select.POLLIN)
        if self._unsent:
            poll.register(self._requests, select.POLLOUT)

    def advance(self, ready: Container[int]) -> None:
        """Send and receive as much as the descriptors that are ``ready`` can take or give."""
        try:
            self._advance(ready)
        except IsolationError as fault:
            self._fault, self.is_settled = fault, True
        if self.is_settled:
            self.seconds = time.monotonic() - self._begun

    def _advance(self, ready: Container[int]) -> None:
        if self._requests in ready:
            self._write()
        if self._answers in ready:
            self._read()
        self._bound()
        if self.is_settled:
            return
        if self._left() <= 0:
            raise TimedOut(f"no answer within {self._timeout:g} s, so it was killed{self.tail()}")
        self._watch_memory()
        # A grandchild may hold the pipe open after the process itself is gone.
        if self._answers not in ready and self._child.poll() is not None:
            length = self._length
            self._read()
            if length == self._length:
                raise Died(self._end())

    def _write(self) -> None:
        try:
            while self._unsent:
                self._unsent = self._unsent[os.write(self._requests, self._unsent) :]
        except BlockingIOError:
            return
        except BrokenPipeError:
            raise Died(self._end()) from None

    def _read(self) -> None:
        try:
            piece = os.read(self._answers, _PIECE)
        except BlockingIOError:
            return
        if not piece:
            raise Died(self._end())
        self._pieces.append(piece)
        self._length += len(piece)
        self.is_settled = b"\n" in piece
        if self._length > LONGEST_ANSWER:
            raise Garbled(f"the process answered more than {LONGEST_ANSWER >> 20} MB{self.tail()}")

    def _watch_memory(self) -> None:
        """Raise Oversized where the process uses too much; it is measured now and then."""
        if self._memory is None or (now := time.monotonic()) < self._watched:
            return
        self._watched = now + _WATCH
        if resident(self._child.pid) > self._memory:
            limit = size_text(self._memory)
            raise Oversized(f"used more than {limit} of memory, so its process was killed")

    def _bound(self) -> None:
        """Cut the file of the process's output, so that it cannot fill the disk."""
        size = os.fstat(self._printed.fileno()).st_size
        if size > _CAPTURE:
            kept = os.pread(self._printed.fileno(), _HEAD, 0)
            kept += b"\n" + os.pread(self._printed.fileno(), _TAIL, size - _TAIL)
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
        """Return the process's output since the request, as a clause for a message.

        Of a long one the beginning and the end: a panic's message stands before its backtrace, an
        exception's after it.
        """
        descriptor = self._printed.fileno()
        size = os.fstat(descriptor).st_size
        if size <= _HEAD + _TAIL:
            printed = os.pread(descriptor, size, 0).decode("utf-8", "replace")
        else:
            parts = (os.pread(descriptor, _HEAD, 0), os.pread(descriptor, _TAIL, size - _TAIL))
            printed = "\n[...]\n".join(part.decode("utf-8", "replace").strip() for part in parts)
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
        keeper.release(self._child.pid)
        for descriptor in (self._requests, self._answers):
            with contextlib.suppress(OSError):
                os.close(descriptor)
        self._requests = self._answers = -1
        self._printed.close()
        if self._log is not None:
            self._log.close()


def await_answers(processes: Iterable[Process]) -> None:
    """Wait until each of these processes has answered the request that it was sent, or has failed.

    None is waited for alone: a process with a long answer would stand still while another works.
    """
    while waiting := [process for process in processes if not process.is_settled]:
        poll = select.poll()
        for process in waiting:
            process.register(poll)
        patience = min(process.patience() for process in waiting)
        ready = {descriptor for descriptor, _ in poll.poll(max(0.0, patience) * 1000)}
        for process in waiting:
            process.advance(ready)


def launched(
    module: str, options: Sequence[str], memory: int | None = None, **environment: str
) -> Process:
    """A process of this Python that runs `module`, which takes ``--requests`` and ``--answers``.

    It imports the modules that this process imports, and leads a group of its own. ``memory`` is
    how many bytes it may use.
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

    return Process(started, memory)


def _module_path() -> str:
    """The parent's module path, so that both find the same modules."""
    entries = (str(Path(entry).absolute()) for entry in sys.path)
    return os.pathsep.join(dict.fromkeys(entries))


def _signal_name(number: int) -> str:
    try:
        return f"{signal.Signals(number).name} ({number})"
    except ValueError:
        return f"signal {number}"


def _is_deeper(value: Any, levels: int) -> bool:
    """Whether arrays and objects stand one within another at more than so many levels."""
    layer = [value] if isinstance(value, (dict, list)) else []
    for _ in range(levels):
        layer = [
            part
            for one in layer
            for part in (one.values() if isinstance(one, dict) else one)
            if isinstance(part, (dict, list))
        ]
        if not layer:
            return False
    return True


def shortened(answer: Any) -> str:
    """Return the beginning of an answer, quoted, for a message."""
    if isinstance(answer, bytes):
        text = answer[: 4 * _SHOWN].decode("utf-8", "replace")
    else:
        text = json.dumps(answer)
    return repr(text if len(text) <= _SHOWN else text[:_SHOWN] + "...")
