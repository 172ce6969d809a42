"""Isolation: a backend in a child process, which may print, hang or die without harm."""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Generic, TypeVar

from conformance.backends import BackendError
from conformance.base.levels import LEVELS
from conformance.isolation.confine import can_end_with_parent
from conformance.isolation.process import (
    Garbled,
    IsolationError,
    Process,
    launched,
    shortened,
)
from conformance.observe.trace import Trace, TraceError
from conformance.program.program import Program, ProgramError
from conformance.sweep.sample import NoEntry

T = TypeVar("T")

HABIT = 10
"""Processes that are ended for one kind of change of the interpreter; then it is a habit."""

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
    other_device: str | None = None
    """The second device of programs that name one; without one they are not run."""
    title: str | None = None
    """The name that a port gives itself; `name` is then its command."""


@dataclass
class Pending(Generic[T]):
    """A request that was sent to a process; without one, work that is done when it is read."""

    process: Process | None
    read: Callable[[], T]
    """Returns the result, waiting for it; raises as `Child.trace` does."""


class Child:
    """Runs programs on the backend called `backend` in a child process of its own.

    The process is started by the first call that needs it, and restarted after it died, hung, sent
    invalid data or failed, and where a program has changed the interpreter or spent the backend.
    `timeout` is in seconds and for each program, `memory` in bytes. Close it after use, or use it
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
        memory: int | None = None,
    ) -> None:
        self.backend = backend
        self.oracle = oracle
        self.imports = tuple(imports)
        self.timeout = timeout
        self.start_timeout = start_timeout
        self.seed = seed
        self.default_dtype = default_dtype
        self.memory = memory
        self._process: Process | None = None
        self._identity: Identity | None = None
        self._is_introduced = False
        self._count = 0
        self._changes: Counter[str] = Counter()

    def identity(self) -> Identity:
        """Return the backend's own description; raises BackendError if it cannot be started."""
        if self._identity is None:
            self._started()
        assert self._identity is not None
        return self._identity

    def trace(self, program: Program) -> Trace:
        """Return the program's trace.

        Raises Died, TimedOut, Oversized, Garbled or Failed (each an IsolationError) where there is
        none, and BackendError where the process cannot be started.
        """
        return self.begin(program).read()

    def begin(self, program: Program, timeout: float | None = None) -> Pending[Trace]:
        """Send a program whose trace is read later; raises BackendError.

        ``timeout`` is in seconds, where it is shorter than the usual one.
        """
        request = self._request(program)
        return self._begun(request, lambda a: Trace.from_json(a.get("trace")), timeout)

    def _request(self, program: Program) -> dict[str, Any]:
        return {"default_dtype": self.default_dtype, "program": program.to_json()}

    def saved(
        self, program: Program, shown: Trace, by_parts: bool = True, timeout: float | None = None
    ) -> list[Any] | None:
        """Return the saved tensors after each statement, as `saved_after_each` does.

        None where the backend does not show the trace ``shown`` again, or not in one run and
        ``by_parts`` is False. Takes a ``timeout`` as `begin` does, and raises as `trace` does.
        """
        seen = {"saved_of": shown.to_json(), "by_parts": by_parts}
        request = {**self._request(program), **seen}
        return self._begun(request, lambda answer: answer["saved"], timeout).read()

    def example(self, identifier: str) -> Program:
        """Return an example of torch's docstrings as a program.

        Raises NoEntry where the backend has no such example, and otherwise as `trace` does.
        """
        return self._asked({"example": identifier}, lambda a: Program.from_json(a["program"]))

    def tally(self, entry: str, dtype: str, timeout: float | None = None) -> dict[str, Any]:
        """Return the tally of an entry of the sweep; the child has to have an oracle.

        Takes a ``timeout`` as `begin` does. Raises NoEntry where the oracle has no such entry, and
        otherwise as `trace` does.
        """
        request = {"entry": entry, "dtype": dtype}
        return self._begun(request, lambda answer: dict(answer["tally"]), timeout).read()

    def sample(self, identifier: str) -> Program:
        """Return one sample of the sweep as a program; raises as `tally` does."""
        return self._asked({"sample": identifier}, lambda a: Program.from_json(a["program"]))

    def _asked(self, request: dict[str, Any], read: Callable[[dict[str, Any]], T]) -> T:
        return self._begun(request, read).read()

    def _begun(
        self,
        request: dict[str, Any],
        read: Callable[[dict[str, Any]], T],
        timeout: float | None = None,
    ) -> Pending[T]:
        process = self._started()
        self._count += 1
        allowed = self.timeout if timeout is None else min(timeout, self.timeout)
        process.send({"id": self._count, "seed": self.seed, **request}, allowed)
        return Pending(process, partial(self._ended, process, self._count, read))

    def _ended(self, process: Process, number: int, read: Callable[[dict[str, Any]], T]) -> T:
        """Read the answer to the request with this number."""
        try:
            answer = process.answer()
            if not isinstance(answer, dict) or answer.get("id") != number:
                raise Garbled(f"the process answered rubbish: {shortened(answer)}{process.tail()}")
            try:
                result = read(self._checked(answer))
            except (TraceError, ProgramError, KeyError, TypeError, ValueError) as error:
                raise Garbled(f"the process answered rubbish: {error}{process.tail()}") from error
        except IsolationError:
            self.close()
            raise
        if answer.get("spent"):
            self.close()
        elif changed := answer.get("changed"):
            self._heed(changed)
        return result

    def _heed(self, changed: Any) -> None:
        """End a process whose interpreter a program has changed, unless that is a habit."""
        names = list(map(str, changed)) if isinstance(changed, list) else []
        self._changes.update(names)
        if any(self._changes[name] <= HABIT for name in names):
            self.close()

    def _checked(self, answer: dict[str, Any]) -> dict[str, Any]:
        """Return the answer, if it is a result; otherwise raise the error that it reports."""
        if "failed" in answer:
            raise Failed(str(answer["failed"]))
        if "lacking" in answer:
            raise NoEntry(str(answer["lacking"]))
        return answer

    def launch(self) -> None:
        """Start the process without waiting until it is ready; raises BackendError."""
        if self._process is None:
            self._is_introduced = False
            self._process = self._launched()

    def _started(self) -> Process:
        self.launch()
        process = self._process
        assert process is not None
        if self._is_introduced:
            return process
        try:
            self._identity = self._introduced(process)
        except IsolationError as error:
            self._kill()
            raise BackendError(f"backend {self.backend!r} could not be started: {error}") from error
        except BaseException:
            self._kill()
            raise
        self._is_introduced = True
        return process

    def _launched(self) -> Process:
        options = ["--backend", self.backend]
        options += ["--oracle", self.oracle] if self.oracle else []
        options += [part for module in self.imports for part in ("--import", module)]
        options += ["--end-with-parent"] if can_end_with_parent() else []
        return launched("conformance.isolation.worker", options, self.memory)

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
        self._kill()

    def _kill(self) -> None:
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
