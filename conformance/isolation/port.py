"""Ports in any language: processes with JSON Lines on standard input and output.

`--backend 'cmd: COMMAND'` names one. It is sent programs in the neutral form and answers with
traces; docs/porting.md is the protocol in words, schema/protocol.schema.json its schema.
"""

from __future__ import annotations

import errno
import os
import shlex
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import IO, Any

from conformance.backends import BackendError
from conformance.base.levels import LEVELS
from conformance.base.release import version
from conformance.isolation import confine, container, keeper
from conformance.isolation.answers import read_saved, read_trace
from conformance.isolation.child import Child, Failed, Identity, Pending, Unsupported
from conformance.isolation.confine import network_refusal
from conformance.isolation.process import Garbled, Process, shortened
from conformance.neutral.compile import NotNeutral, neutral
from conformance.observe.trace import Trace
from conformance.program.program import Program

PREFIX = "cmd:"
"""The beginning of such a backend's name."""

PROTOCOL = 1
"""Version of the protocol; it changes when one side would misread the other."""

_PATIENCE = 1.0  # seconds that a port may take to stop


def is_port(backend: str) -> bool:
    """Say whether the backend of this name is a command."""
    return backend.startswith(PREFIX)


class Port(Child):
    """Runs programs on a port: as `Child`, with a command in place of a backend in Python.

    Its methods raise `Unsupported`, too: where a program has no neutral form, and where the port
    reports that it lacks an operation of the program.
    """

    without: tuple[str, ...] = ()
    """Fields of the claimed levels that the port does not have."""

    tells_saved = False
    """Whether it says that it can tell the saved tensors of a program's nodes."""

    network = False
    """Whether it may use this machine's network, where the kernel can take it away."""

    image: str | None = None
    """The image of the container that its command runs in; without one it runs here."""

    log: Path | None = None
    """The folder of the files that get all messages; see `Process`."""

    _removal: list[str] | None = None

    def begin(self, program: Program, timeout: float | None = None) -> Pending[Trace]:
        def read(answer: dict[str, Any]) -> Trace:
            return self._read(answer, program)[0]

        return self._begun(self._request(program), read, timeout)

    def _read(self, answer: dict[str, Any], program: Program) -> tuple[Trace, dict[Any, str]]:
        return read_trace(answer, program, self.identity().levels, self.without)

    def _request(self, program: Program) -> dict[str, Any]:
        try:
            form = neutral(program)
        except NotNeutral as reason:
            raise Unsupported(str(reason)) from None
        return {"type": "run", "default_dtype": self.default_dtype, "program": form}

    def saved(
        self, program: Program, shown: Trace, by_parts: bool = True, timeout: float | None = None
    ) -> list[Any] | None:
        """As `Child.saved`; a port is asked if it says in the handshake that it can tell.

        It runs the program once, be `by_parts` true or not.
        """
        if not self.tells_saved:
            return None

        def read(answer: dict[str, Any]) -> list[Any] | None:
            trace, labels = self._read(answer, program)
            if trace.to_json() != shown.to_json() or "saved" not in answer:
                return None
            return read_saved(answer["saved"], len(trace.steps), labels)

        return self._begun({**self._request(program), "saved": True}, read, timeout).read()

    def tally(self, entry: str, dtype: str, timeout: float | None = None) -> dict[str, Any]:
        raise Unsupported("an entry of the sweep is made by torch, for backends in Python")

    def sample(self, identifier: str) -> Program:
        raise Unsupported("a sample of the sweep is made by torch, for backends in Python")

    def close(self) -> None:
        """Tell the process to stop, if there is one, and end it."""
        if self._process is not None and self._is_introduced:
            self._process.dismiss({"type": "stop"}, _PATIENCE)
        super().close()

    def _kill(self) -> None:
        super()._kill()
        if self._removal is not None:
            # The process was the container's client only.
            subprocess.run(self._removal, stdin=subprocess.DEVNULL, capture_output=True)
            keeper.release(self._removal)
            self._removal = None

    def _checked(self, answer: dict[str, Any]) -> dict[str, Any]:
        match answer.get("type"):
            case "trace":
                return answer
            case "unsupported":
                raise Unsupported(
                    str(answer.get("reason") or "the port does not say what it lacks")
                )
            case "failed":
                raise Failed(str(answer.get("reason") or "the port does not say what failed"))
            case other:
                raise ValueError(f"an answer of type {shortened(other)}")

    def _launched(self) -> Process:
        command = self._contained() if self.image else self._confined()

        def started(requests: int, answers: int, printed: IO[bytes]) -> subprocess.Popen[bytes]:
            return subprocess.Popen(
                command, stdin=requests, stdout=answers, stderr=printed, start_new_session=True
            )

        return Process(started, self.memory, self._logged())

    def _logged(self) -> IO[bytes] | None:
        """A new file for the messages of one process; raises BackendError."""
        if self.log is None:
            return None
        try:
            self.log.mkdir(parents=True, exist_ok=True)
            descriptor, _ = tempfile.mkstemp(".log", "port-", self.log)
            return open(descriptor, "wb", buffering=0)
        except OSError as error:
            raise BackendError(f"--log {self.log}: {error.strerror}") from None

    def _confined(self) -> list[str]:
        """The command, without the network where that is possible; raises BackendError."""
        words = _words(self.backend)
        if shutil.which(words[0]) is None:
            reason = os.strerror(errno.ENOENT)
            raise BackendError(f"backend {self.backend!r}: {words[0]} cannot be started: {reason}")
        return confine.command(words, self.network or network_refusal() is not None)

    def _contained(self) -> list[str]:
        """The command of a container that runs the command; raises BackendError."""
        runner, reason = container.engine()
        if runner is None:
            raise BackendError(f"backend {self.backend!r}: {reason}")
        assert self.image is not None
        name = f"conform-{os.urandom(8).hex()}"
        self._removal = container.remove(runner, name)
        keeper.keep(self._removal)
        words = _words(self.backend)
        made = container.command(runner, self.image, name, words, self.memory)
        return confine.command(made, network=True)

    def _introduced(self, process: Process) -> Identity:
        answer = process.ask(
            {"type": "start", "protocol": PROTOCOL, "suite": version()}, self.start_timeout
        )
        try:
            identity, self.without = _capabilities(answer)
            self.tells_saved = answer.get("saved") is True
        except (KeyError, TypeError, ValueError) as error:
            raise Garbled(
                f"it answered {shortened(answer)} to the start: {_reason(error)}{process.tail()}"
            ) from None
        return identity


def missing(backend: str) -> str | None:
    """Return the executable of a port's command if this machine lacks it, else None.

    Raises BackendError for a name that is no command.
    """
    program = _words(backend)[0]
    return program if shutil.which(program) is None else None


def _words(backend: str) -> list[str]:
    """The command's words; raises BackendError for shell syntax errors."""
    try:
        words = shlex.split(backend.removeprefix(PREFIX))
    except ValueError as error:
        raise BackendError(f"backend {backend!r}: not a command: {error}") from None
    if not words:
        raise BackendError(f"backend {backend!r}: `{PREFIX}` wants a command behind it")
    return words


def _capabilities(ready: dict[str, Any]) -> tuple[Identity, tuple[str, ...]]:
    """Return a port's description of itself; raises KeyError, TypeError or ValueError."""
    if ready["type"] != "ready":
        raise ValueError('its type is not "ready"')
    if ready["protocol"] != PROTOCOL:
        raise ValueError(f"this suite speaks version {PROTOCOL} of the protocol")
    levels, without = ready.get("levels", ["values"]), ready.get("without", [])
    if unknown := [level for level in levels if level not in LEVELS]:
        raise ValueError(f"there is no level {unknown[0]!r}; there are {', '.join(LEVELS)}")
    if "values" not in levels:
        raise ValueError('without the level "values" nothing can be compared')
    name = str(ready["name"])
    identity = Identity(
        name,
        str(ready.get("version") or "unknown"),
        str(ready.get("device") or "cpu"),
        None if ready.get("unavailable") is None else str(ready["unavailable"]),
        tuple(level for level in LEVELS if level in levels),
        other_device=None if ready.get("other_device") is None else str(ready["other_device"]),
        title=name,
    )
    return identity, tuple(map(str, without))


def _reason(error: Exception) -> str:
    return f"{error} is missing" if isinstance(error, KeyError) else str(error)
