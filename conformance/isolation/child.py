"""Isolation: a backend in a child process, which may print, hang or die without harm."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from conformance.backends import BackendError
from conformance.base.levels import LEVELS
from conformance.isolation.process import (
    Died,
    Garbled,
    IsolationError,
    Process,
    TimedOut,
    launched,
    shortened,
)
from conformance.observe.trace import Trace, TraceError
from conformance.program.program import Program, ProgramError

T = TypeVar("T")

START_TIMEOUT = 300.0  # importing a large framework from a cold disk


class Unsupported(Exception):
    """The process works and reports that its backend cannot run the program, or a part of it."""


class Failed(IsolationError):
    """The process works but could not run the program."""


@dataclass(frozen=True)
class Identity:
    """A child's description of its backend; `unavailable` is why it runs no programs, or None."""

    name: str
    version: str
    device: str
    unavailable: str | None
    levels: tuple[str, ...] = LEVELS
    """The levels that the backend claims; no others are compared."""
    names: list[dict[str, Any]] | None = None
    """How many of torch's public names it has; see `conformance.signatures.names.names_of`."""


class Child:
    """Runs programs on the backend called `backend` in a child process of its own.

    The process is started by the first call that needs it, and restarted after it died, hung or
    sent invalid data. `timeout` is in seconds and for each program. Close it after use, or use it
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
        self._process: Process | None = None
        self._identity: Identity | None = None
        self._count = 0

    def identity(self) -> Identity:
        """Return the backend's own description; raises BackendError if it cannot be started."""
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
        """Return the tally of an entry of the sweep; the child has to have an oracle.

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
                raise Garbled(f"the process answered rubbish: {shortened(answer)}{process.tail()}")
            try:
                return read(self._checked(answer))
            except (TraceError, ProgramError, KeyError, TypeError, ValueError) as error:
                raise Garbled(f"the process answered rubbish: {error}{process.tail()}") from error
        except (Died, TimedOut, Garbled):
            self.close()
            raise

    def _checked(self, answer: dict[str, Any]) -> dict[str, Any]:
        """Return the answer, if it is a result; otherwise raise the error that it reports."""
        if "failed" in answer:
            raise Failed(str(answer["failed"]))
        return answer

    def _started(self) -> Process:
        if self._process is not None:
            return self._process
        process = self._launched()
        try:
            self._identity = self._introduced(process)
        except IsolationError as error:
            process.close()
            raise BackendError(f"backend {self.backend!r} could not be started: {error}") from error
        except BaseException:
            process.close()
            raise
        self._process = process
        return process

    def _launched(self) -> Process:
        options = ["--backend", self.backend]
        options += ["--oracle", self.oracle] if self.oracle else []
        options += [part for module in self.imports for part in ("--import", module)]
        return launched("conformance.isolation.worker", options)

    def _introduced(self, process: Process) -> Identity:
        """Return the process's description of its backend; raises BackendError, IsolationError."""
        answer = process.greeting(self.start_timeout)
        if isinstance(answer, dict) and "failed" in answer:
            raise BackendError(str(answer["failed"]))
        try:
            ready = answer["ready"]
            return Identity(**{**ready, "levels": tuple(ready["levels"])})
        except (TypeError, KeyError):
            raise Garbled(f"it said {shortened(answer)}{process.tail()}") from None

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
