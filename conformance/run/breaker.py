"""The circuit breaker of a run: what ends it before its last program."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

import pytest

from conformance.backends import BackendError
from conformance.isolation.child import Failed
from conformance.isolation.process import IsolationError, TimedOut
from conformance.run_files.totals import is_failing
from conformance.settings.settings import Settings

STOP = "conform_stop"
"""The command to a worker of pytest-xdist that ends a run."""

CLUSTER = 10
"""Programs that stand side by side ask the same of a backend, and may all end its process. Where it
came through so many times as many programs, they are no sign that it is past running any."""


class Breaker:
    """Ends a run after too many lost processes in a row, when its time is over, or when told to.

    From then on it has a `reason`, with which all programs that are left are not run.
    """

    def __init__(self, settings: Settings, left: float | None = None) -> None:
        """``left`` is how many seconds the run may take from now on."""
        self.came_through = 0  # of this run, and of one that it resumes
        self._give_up = settings.give_up
        self._all_failed = settings.selection.failed_in is not None
        self._until = None if left is None else time.monotonic() + left
        self._lost = 0
        self._costly = False
        self._reason: str | None = None

    def stop(self, reason: str) -> None:
        """End the run; the first reason is kept."""
        self._reason = self._reason or reason

    def reason(self) -> str | None:
        """The reason why no further program is run, or None."""
        if (left := self.left()) is not None and left <= 0:
            self.stop("the time of the run was over (--total-timeout)")
        return self._reason

    def left(self) -> float | None:
        """The seconds that the run may still take; None without a limit."""
        return None if self._until is None else self._until - time.monotonic()

    def note(self, error: Exception | None = None, reason: str = "") -> None:
        """Count a program that cost a process, or begin again after one that did not.

        One that hangs costs its whole timeout, one that ends its process a start: the latter have
        more room where most programs come through.
        """
        lost = isinstance(error, IsolationError | BackendError) and not isinstance(error, Failed)
        if not lost:
            self._lost, self._costly = 0, False
            self.came_through += 1
            return
        self._lost += 1
        ended = isinstance(error, IsolationError) and not isinstance(error, TimedOut)
        self._costly = self._costly or not ended
        if self._give_up and self._lost >= self._room():
            last = reason.splitlines()[0]
            self.stop(
                f"given up: {self._lost} programs in a row ended or hung a process (--give-up); "
                f"the last: {last}"
            )

    def _room(self) -> float:
        """How many programs in a row may be lost; infinitely many of those that failed before."""
        if self._costly:
            return self._give_up
        if self._all_failed:
            return math.inf
        return max(self._give_up, self.came_through // CLUSTER)


class Limits:
    """The pytest plugin that holds a whole run to its limits, in the process that controls it.

    It counts the programs that fail, in however many processes, and has their breakers stopped.
    """

    def __init__(self, settings: Settings, breaker: Breaker) -> None:
        """``breaker`` is that of this process."""
        self._settings, self._breaker = settings, breaker
        self._failed = 0
        self._nodes: list[Any] = []

    @pytest.hookimpl(optionalhook=True)
    def pytest_configure_node(self, node: Any) -> None:
        node.workerinput["conform_left"] = self._breaker.left()
        node.workerinput["conform_came_through"] = self._breaker.came_through
        self._nodes.append(node)

    def pytest_conform_judged(self, line: Mapping[str, Any]) -> None:
        self._failed += is_failing(line) or line["outcome"] == "error"
        if self._failed != self._settings.maxfail:
            return
        reason = f"the run was stopped after {self._failed} failed (--maxfail)"
        self._breaker.stop(reason)
        for node in self._nodes:
            with suppress(OSError):  # that worker has ended
                node.channel.send((STOP, {"reason": reason}))


def listen(plugins: Any, breaker: Breaker) -> None:
    """In a worker of pytest-xdist, stop the breaker when `Limits` says so.

    pytest-xdist ignores commands that it does not know; its plugin receives them.
    """
    (interactor,) = (plugin for plugin in plugins if hasattr(plugin, "handle_command"))
    handle = interactor.handle_command

    def heard(command: Any) -> None:
        if isinstance(command, tuple) and command[0] == STOP:
            breaker.stop(command[1]["reason"])
        else:
            handle(command)

    interactor.handle_command = heard
