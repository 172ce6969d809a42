"""Isolation: a backend in a child process, which may print, hang or die without harm."""

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
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, TypeVar

from conformance.backends import BackendError
from conformance.program import Program, ProgramError
from conformance.trace import Trace, TraceError

T = TypeVar("T")

START_TIMEOUT = 300.0  # importing a large framework from a cold disk
_POLL = 0.25
_CAPTURE = 1 << 20
_TAIL = 2000
_LONGEST_ANSWER = 256 << 20


class IsolationError(Exception):
    """A program that has no trace because of what became of the child; its outcome is `error`."""

    @property
    def reason(self) -> str:
        """The message, for a verdict."""
        return str(self)


class Died(IsolationError):
    """The process ended while it ran the program."""


class TimedOut(IsolationError):
    """The program did not end in time; the process was killed."""


class Garbled(IsolationError):
    """The process answered with something that is not an answer."""


class Failed(IsolationError):
    """The process is well but could not run the program."""


@dataclass(frozen=True)
class Identity:
    """What a child says of its backend; `unavailable` is why it cannot run programs, or None."""

    name: str
    version: str
    device: str
    unavailable: str | None


class Child:
    """Runs programs on the backend called `backend` in a child process of its own.

    The process is started by the first call that needs it, and again after it died, hung or
    answered rubbish. `timeout` is in seconds and for each program. Close it after use, or use it
    as a context manager. With an `oracle` the process holds both, and serves the sweep.
    """

    def __init__(
        self,
        backend: str,
        imports: Sequence[str] = (),
        timeout: float = 60.0,
        start_timeout: float = START_TIMEOUT,
        seed: int = 0,
        default_dtype: str = "float32",
        oracle: str | None = None,
    ) -> None:
        self.backend = backend
        self.oracle = oracle
        self.imports = tuple(imports)
        self.timeout = timeout
        self.start_timeout = start_timeout
        self.seed = seed
        self.default_dtype = default_dtype
        self._process: _Process | None = None
        self._identity: Identity | None = None
        self._count = 0

    def identity(self) -> Identity:
        """Return what the backend says of itself; raises BackendError if it cannot be started."""
        if self._identity is None:
            self._started()
        assert self._identity is not None
        return self._identity

    def trace(self, program: Program) -> Trace:
        """Return the program's trace.

        Raises Died, TimedOut, Garbled or Failed (each an IsolationError) where there is none, and
        BackendError where the process cannot be started.
        """
        request = {"default_dtype": self.default_dtype, "program": program.to_json()}
        return self._asked(request, lambda answer: Trace.from_json(answer.get("trace")))

    def tally(self, entry: str, dtype: str) -> dict[str, Any]:
        """Return what came of an entry of the sweep; the child has to have an oracle.

        Raises as `trace` does.
        """
        request = {"entry": entry, "dtype": dtype}
        return self._asked(request, lambda answer: dict(answer["tally"]))

    def sample(self, identifier: str) -> Program:
        """Return one sample of the sweep as a program; raises as `tally` does."""
        return self._asked({"sample": identifier}, lambda a: Program.from_json(a["program"]))

    def _asked(self, request: dict[str, Any], read: Callable[[dict[str, Any]], T]) -> T:
        process = self._started()
        self._count += 1
        try:
            answer = process.ask({"id": self._count, "seed": self.seed, **request}, self.timeout)
            if not isinstance(answer, dict) or answer.get("id") != self._count:
                raise Garbled(f"the process answered rubbish: {_shortened(answer)}{process.tail()}")
            if "failed" in answer:
                raise Failed(str(answer["failed"]))
            try:
                return read(answer)
            except (TraceError, ProgramError, KeyError, TypeError, ValueError) as error:
                raise Garbled(f"the process answered rubbish: {error}{process.tail()}") from error
        except (Died, TimedOut, Garbled):
            self.close()
            raise

    def _started(self) -> _Process:
        if self._process is not None:
            return self._process
        process = _Process(self.backend, self.imports, self.oracle)
        try:
            self._identity = _identity(process, self.start_timeout, self.backend)
        except BaseException:
            process.close()
            raise
        self._process = process
        return process

    def close(self) -> None:
        """End the process, if there is one."""
        if self._process is not None:
            self._process.close()
            self._process = None

    def __enter__(self) -> Child:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __del__(self) -> None:
        with contextlib.suppress(Exception):
            self.close()


def _identity(process: _Process, timeout: float, name: str) -> Identity:
    try:
        answer = process.greeting(timeout)
        if isinstance(answer, dict) and "failed" in answer:
            raise BackendError(str(answer["failed"]))
        return Identity(**answer["ready"])
    except IsolationError as error:
        raise BackendError(f"backend {name!r} could not be started: {error}") from error
    except (TypeError, KeyError) as error:
        raise BackendError(
            f"backend {name!r} could not be started: it said {_shortened(answer)}{process.tail()}"
        ) from error


class _Process:
    """One child process with its two pipes, and a file for whatever it prints."""

    def __init__(self, backend: str, imports: Sequence[str], oracle: str | None) -> None:
        self._printed: IO[bytes] = tempfile.TemporaryFile(buffering=0)  # noqa: SIM115
        # Appending, so that the file can be cut short under the process's hands.
        fcntl.fcntl(self._printed.fileno(), fcntl.F_SETFL, os.O_APPEND)
        to_child, self._requests = os.pipe()
        self._answers, from_child = os.pipe()
        self._buffer = b""
        # -P: what the child imports is what the parent would, whatever the current folder holds.
        command = [sys.executable, "-P", "-m", "conformance.worker", "--backend", backend]
        command += ["--oracle", oracle] if oracle else []
        command += ["--requests", str(to_child), "--answers", str(from_child)]
        command += [part for module in imports for part in ("--import", module)]
        try:
            self._child = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=self._printed,
                stderr=self._printed,
                pass_fds=(to_child, from_child),
                env={**os.environ, "PYTHONPATH": _module_path()},
                start_new_session=True,
            )
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
        """Return what the process says unasked, at its start."""
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
            raise Garbled(
                f"the process answered rubbish: {_shortened(line)}{self.tail()}"
            ) from None
        if self._buffer:
            raise Garbled(f"the process answered too much: {_shortened(self._buffer)}{self.tail()}")
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
        """Keep what a chatty backend prints from filling the disk."""
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
        """Return the end of what the process printed, as a clause for a message."""
        descriptor = self._printed.fileno()
        size = os.fstat(descriptor).st_size
        printed = os.pread(descriptor, _TAIL, max(0, size - _TAIL)).decode("utf-8", "replace")
        return f"; it printed last:\n{printed.strip()}" if printed.strip() else ""

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


def _module_path() -> str:
    """The parent's module path, so that the child finds what the parent finds."""
    entries: Iterator[str] = (str(Path(entry).absolute()) for entry in sys.path)
    return os.pathsep.join(dict.fromkeys(entries))


def _signal_name(number: int) -> str:
    try:
        return f"{signal.Signals(number).name} ({number})"
    except ValueError:
        return f"signal {number}"


def _shortened(answer: Any) -> str:
    text = answer.decode("utf-8", "replace") if isinstance(answer, bytes) else json.dumps(answer)
    return repr(text if len(text) <= 200 else text[:200] + "...")
