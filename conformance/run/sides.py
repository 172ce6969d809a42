"""The sides of a comparison: an oracle or a backend in a process, in this process, or recorded."""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from conformance import backends
from conformance.base.forms import SavedTensors, check
from conformance.base.levels import LEVELS
from conformance.execution.execute import trace
from conformance.execution.recorded import Recorded, find_recording, saved_of
from conformance.execution.recordings import is_recorded
from conformance.execution.saved import saved_after_each
from conformance.isolation.child import Child, Failed, Identity, Pending
from conformance.isolation.confine import network_refusal
from conformance.isolation.port import Port, is_port
from conformance.isolation.process import Process, await_answers
from conformance.observe.trace import Trace
from conformance.program.program import Program
from conformance.settings.settings import Settings

SIDES = ("oracle", "backend")

NONE = "none"
"""The oracle of a run without one: programs are judged by their comments."""


class Here:
    """A backend in this process, for a debugger; with the methods of `Child`."""

    def __init__(self, backend: backends.Backend) -> None:
        self.backend = backend

    def launch(self) -> None:
        """Nothing has to be started."""

    def identity(self) -> Identity:
        """The backend's own description."""
        found = self.backend
        version, device = str(found.version), str(found.device)
        other = found.other_device
        return Identity(
            found.name, version, device, found.available(), found.levels, other_device=other
        )

    def begin(self, program: Program, timeout: float | None = None) -> Pending[Trace]:
        """The trace, which is made when it is read; there is no timeout.

        Raises Failed where the backend can run nothing more in this process.
        """
        if reason := self.backend.spent():
            raise Failed(f"an earlier program has ended what the backend can do here: {reason}")
        return Pending(None, partial(trace, program, self.backend))

    def saved(
        self, program: Program, shown: Trace, by_parts: bool = True, timeout: float | None = None
    ) -> list[Any] | None:
        """The saved tensors after each statement; there is no timeout."""
        return saved_after_each(program, self.backend, shown, by_parts)

    def example(self, identifier: str) -> Program:
        """An example of torch's docstrings as a program; raises LookupError."""
        found: Program = self.backend.example(identifier)
        return found

    def close(self) -> None:
        """Nothing has to be ended."""


class Read:
    """A recording; with the methods of `Child`."""

    def __init__(self, name: str, recording: Recorded) -> None:
        self.name, self.recording = name, recording

    def launch(self) -> None:
        """Nothing has to be started."""

    def identity(self) -> Identity:
        """The description that the recording has of its oracle."""
        oracle = self.recording.oracle
        version, device = str(oracle.get("version")), str(oracle.get("device"))
        return Identity(self.name, version, device, None, LEVELS, other_device="meta")

    def begin(self, program: Program, timeout: float | None = None) -> Pending[Trace]:
        """The recorded trace; reading it raises NotRecorded where there is none."""
        return Pending(None, partial(self.recording.trace, program))

    def saved(
        self, program: Program, shown: Trace, by_parts: bool = True, timeout: float | None = None
    ) -> list[Any] | None:
        """The saved tensors after each statement, of a version of which they are recorded."""
        return saved_of(self.recording, program)

    def example(self, identifier: str) -> Program:
        """Raises LookupError: an example stands in torch itself."""
        raise LookupError("a recording has no docstrings of torch: its examples need torch")

    def close(self) -> None:
        """Nothing has to be ended."""


Side = Child | Here | Read


def side(name: str, settings: Settings) -> Side:
    """The side of this name, not started yet; raises RecordingError, or BackendError."""
    if is_recorded(name):
        recording = find_recording(name)
        recording.check(settings.seed, settings.default_dtype)
        return Read(name, recording)
    if settings.isolation:
        return child(replace(settings, backend=name))
    found = backends.find(name, settings.imports)
    found.seed = settings.seed
    found.default_dtype = settings.default_dtype
    return Here(found)


def child(settings: Settings, oracle: str | None = None, times: float = 1) -> Child:
    """The process, not started yet, in which the backend of these settings runs programs.

    With an ``oracle`` it serves the sweep. Requests may take ``times`` the usual timeout.
    """
    kind = Port if is_port(settings.backend) else Child
    made = kind(
        settings.backend,
        settings.imports,
        timeout=settings.timeout * times,
        start_timeout=settings.start_timeout,
        seed=settings.seed,
        default_dtype=settings.default_dtype,
        oracle=oracle,
        memory=settings.memory,
    )
    if isinstance(made, Port):
        made.network, made.image, made.log = settings.network, settings.image, settings.log
    return made


def isolation(settings: Settings) -> str:
    """How the programs of these settings are kept from harm, in words, for header and terminal."""
    if not settings.isolation:
        return "none: oracle and backend run in the process of the harness"
    if not is_port(settings.backend):
        return "processes"
    if settings.image:
        return f"a container of {settings.image}, without network"
    if settings.network:
        return "processes; the port has the network, as asked for"
    if refusal := network_refusal():
        return f"processes; the port has the network, since the kernel refuses: {refusal}"
    return "processes; the port has no network"


@dataclass(frozen=True)
class Shown:
    """The result of a program on one side: a trace, or the error that there is in its place."""

    trace: Trace | None
    error: Exception | None
    seconds: float

    def result(self) -> Trace:
        """The trace; raises the error."""
        if self.error is not None:
            raise self.error
        assert self.trace is not None
        return self.trace


class Sides:
    """Oracle and backend of a run, each set up when it is first asked for, unless it is given."""

    def __init__(self, settings: Settings, **given: Side) -> None:
        self.settings = settings
        self._sides = given

    def __getitem__(self, role: str) -> Side:
        """One side, as the settings name it; raises RecordingError, or BackendError."""
        if role not in self._sides:
            self._sides[role] = side(getattr(self.settings, role), self.settings)
        return self._sides[role]

    def launch(self) -> None:
        """Start the processes that there are to be, without waiting for them.

        A side that cannot be started says so when it is asked for.
        """
        for role in SIDES:
            name = getattr(self.settings, role)
            if name != NONE and not (role == "oracle" and is_port(name)):
                with suppress(Exception):
                    self[role].launch()

    @property
    def are_processes(self) -> bool:
        """Whether both are processes, which work at the same time."""
        recorded = map(is_recorded, (self.settings.oracle, self.settings.backend))
        return self.settings.isolation and not any(recorded)

    def shown(
        self, program: Program, roles: Sequence[str], timeout: float | None = None
    ) -> list[Shown]:
        """The results of a program on these sides.

        ``timeout`` is in seconds, where it is shorter than that of the settings.
        """
        try:
            sides = [self[role] for role in roles]
        except Exception as error:
            return [Shown(None, error, 0.0) for _ in roles]
        for one in sides:
            with suppress(backends.BackendError):  # `begin` raises it again
                one.launch()
        begun = [_Begun(one, program, timeout) for one in sides]
        await_answers([one.process for one in begun if one.process is not None])
        return [one.shown() for one in begun]

    def saved(
        self,
        program: Program,
        role: str,
        shown: Trace,
        by_parts: bool = True,
        timeout: float | None = None,
    ) -> list[Any] | None:
        """The saved tensors of a side after each statement of a trace that it has shown.

        ``by_parts`` allows the program to be run anew up to each statement where one run cannot
        tell, which spends the process.

        None where they are not known: they are for drawings, so no failure to read them counts.
        """
        with suppress(Exception):
            found = self[role].saved(program, shown, by_parts, timeout)
            if found is not None:
                check(found, SavedTensors)  # a backend is not trusted
            return found
        return None

    def close(self) -> None:
        """End the processes; a side that is asked for later is started again."""
        for one in self._sides.values():
            one.close()


class _Begun:
    """A program that was handed to one side."""

    def __init__(self, one: Side, program: Program, timeout: float | None) -> None:
        self.pending: Pending[Trace] | None = None
        self.error: Exception | None = None
        self._begun = time.perf_counter()
        try:
            self.pending = one.begin(program, timeout)
        except Exception as error:
            self.error = error

    @property
    def process(self) -> Process | None:
        """The process that works on it, if one does."""
        return None if self.pending is None else self.pending.process

    def shown(self) -> Shown:
        """The result, which is waited for."""
        if self.pending is None:
            return Shown(None, self.error, time.perf_counter() - self._begun)
        found, error, begun = None, None, time.perf_counter()
        try:
            found = self.pending.read()
        except Exception as raised:
            error = raised
        seconds = self.process.seconds if self.process else time.perf_counter() - begun
        return Shown(found, error, seconds)
