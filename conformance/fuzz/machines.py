"""Machines: workers in interpreters that execnet starts or reaches, as pytest-xdist does for tests.

Every interpreter runs `conformance.fuzz.station`, which has a zygote of its own and answers the
requests that come over an execnet channel. One that is silent for too long is lost.
"""

from __future__ import annotations

import fnmatch
import json
import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import execnet
from execnet.gateway import Gateway
from execnet.gateway_base import Channel

from conformance.base.release import differences
from conformance.fuzz.station import HEARTBEAT
from conformance.fuzz.workers import Requested, SearchFailed, WorkerLost
from conformance.run.machines import FIRST, IGNORED

FOLDER = "pyexecnetcache"
"""The folder on another machine that project folders are sent to, as pytest-xdist has it."""

SILENCE = 6 * HEARTBEAT
"""Seconds without a sign of life after which a machine is lost."""

BEGIN = f"""
import os, sys
folders, path, environment = channel.receive()
os.environ.update(environment)
if path is not None:
    sys.path[:] = path
{FIRST}
from conformance.base.release import differences
from conformance.fuzz.station import serve
serve(channel)
"""
"""Source that an interpreter is sent to become a station."""


@dataclass(frozen=True)
class Equipment:
    """The same for all machines: settings, versions, environment and the folders that are sent.

    ``settings`` are those of a zygote, as JSON; ``versions`` those that a machine must have;
    ``environment`` the variables that are set there, and ``folders`` come first in its module path.
    """

    settings: Mapping[str, Any]
    versions: Mapping[str, str]
    environment: Mapping[str, str] = field(default_factory=dict)
    folders: tuple[Path, ...] = ()


class Machine(Requested):
    """A worker in the interpreter that a specification such as `ssh=HOST` names."""

    def __init__(self, specification: str, equipment: Equipment) -> None:
        self.specification, self.equipment = specification, equipment
        self.lines = 0
        self._group: execnet.Group | None = None
        self._channel: Channel | None = None

    def __str__(self) -> str:
        return self.specification

    def start(self) -> None:
        """Reach the interpreter, unless that is done; raises WorkerLost where it is not there.

        Raises SearchFailed where it has another version of the suite, torch, NumPy or the backend.
        """
        if self._channel is not None:
            return
        try:
            greeting = self._greeted()
            if differ := differences(self.equipment.versions, greeting["versions"]):
                raise SearchFailed(f"the worker {self} cannot be used: {differ}.")
        except SearchFailed:
            self.close()
            raise
        except Exception as error:  # of execnet, ssh or a socket, or of the module path elsewhere
            self.close()
            raise WorkerLost(f"the worker {self} cannot be started: {_reason(error)}") from None
        self.lines = greeting["lines"]

    def close(self) -> None:
        """End the connection, and with it the work at the other end."""
        self._channel = None
        if (group := self._group) is not None:
            self._group = None
            group.terminate(timeout=2)

    def _greeted(self) -> dict[str, Any]:
        self._group = execnet.Group()
        specification = execnet.XSpec(self.specification)
        near = bool(specification.popen and not specification.chdir)
        if not specification.popen and not specification.chdir:
            specification.chdir = FOLDER
        gateway = self._group.makegateway(specification)
        needed = self.equipment
        for folder in () if near else needed.folders:
            _send(folder, gateway)
        self._channel = channel = gateway.remote_exec(BEGIN)
        path = [*map(str, needed.folders), *sys.path] if near else None
        names = [] if near else [folder.name for folder in needed.folders]
        channel.send((names, path, dict(needed.environment)))
        channel.send(json.dumps(needed.settings))
        greeting = self._received(channel)
        if "failed" in greeting:
            raise SearchFailed(f"the worker {self} cannot be started: {greeting['failed']}")
        return greeting

    def _asked(self, request: dict[str, Any]) -> dict[str, Any]:
        try:
            self.start()
            if (channel := self._channel) is None:
                raise EOFError  # another thread has closed it
            channel.send(json.dumps(request))
            return self._received(channel)
        except SearchFailed:
            raise
        except Exception as error:  # of execnet, or of the station
            self.close()
            raise WorkerLost(_reason(error)) from None

    def _received(self, channel: Channel) -> dict[str, Any]:
        """The next message that is more than a sign of life."""
        while True:
            try:
                message = channel.receive(SILENCE)
            except channel.TimeoutError:
                raise _Silent(f"it has been silent for {SILENCE:g} s") from None
            if message is not None:
                return dict(json.loads(message))


class _Silent(Exception):
    """No sign of life came in time."""


def _reason(error: Exception) -> str:
    """The last line of an error's text, or its kind where it has none."""
    if isinstance(error, EOFError):
        return "the connection broke"
    lines = str(getattr(error, "formatted", error)).strip().splitlines()
    return lines[-1] if lines else type(error).__name__


class _Sending(execnet.RSync):
    """The sending of a folder without the files that are of no use elsewhere."""

    def filter(self, path: str) -> bool:
        name = os.path.basename(path)
        return not any(fnmatch.fnmatch(name, pattern) for pattern in IGNORED)


def _send(folder: Path, gateway: Gateway) -> None:
    sending = _Sending(folder, verbose=False)
    sending.add_target(gateway, folder.name, delete=True)
    sending.send()
