"""Workers: the ones that draw the shares of a search, each in a process of its own or in this."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

from conformance.fuzz.causes import Cause
from conformance.fuzz.examiner import EMPTY
from conformance.fuzz.search import Search
from conformance.fuzz.setup import search_of
from conformance.fuzz.share import Report, Share
from conformance.fuzz.themes import THEMES
from conformance.fuzz.zygote import settings_to
from conformance.isolation.process import IsolationError, Process, TimedOut, launched
from conformance.settings.settings import Settings

Known = Mapping[str, Sequence[str]]
PATIENCE = 7200.0
"""Seconds that a share may take; the zygote watches each program itself."""


class SearchFailed(Exception):
    """A share was not drawn to its end; says why."""


class WorkerLost(SearchFailed):
    """The worker ended while it drew the share, which another can draw."""


class Worker(Protocol):
    """A drawer of shares, which draws the same wherever it is."""

    lines: int
    """How many lines the backend has; 0 until the worker has started."""

    def start(self) -> None:
        """Begin; the first request does it otherwise. Raises SearchFailed."""

    def share(self, share: Share) -> Report:
        """The report of a share; raises SearchFailed, or WorkerLost."""

    def shrink(self, statements: Sequence[str], cause: Cause) -> tuple[list[str], Cause]:
        """A smaller program with the same cause, and its own cause; raises SearchFailed."""

    def close(self) -> None:
        """End; a request after it begins anew."""


class Requested:
    """The requests of a worker that answers with JSON, and how its answers are read."""

    def share(self, share: Share) -> Report:
        """The report of a share; raises SearchFailed, or WorkerLost."""
        return Report.from_json(self.answer({"share": vars(share)})["report"])

    def shrink(self, statements: Sequence[str], cause: Cause) -> tuple[list[str], Cause]:
        """A smaller program with the same cause, and its own cause; raises SearchFailed."""
        answer = self.answer({"shrink": list(statements), "cause": vars(cause)})
        return answer["shrunk"], Cause.from_json(answer["cause"])

    def answer(self, request: dict[str, Any]) -> dict[str, Any]:
        """The answer to a request; raises SearchFailed where it is that it failed."""
        answer = self._asked(request)
        if "failed" in answer:
            raise SearchFailed(str(answer["failed"]))
        return answer

    def _asked(self, request: dict[str, Any]) -> dict[str, Any]:
        raise NotImplementedError


class Zygote(Requested):
    """A zygote on this machine."""

    def __init__(
        self,
        settings: Settings,
        corpus: Sequence[Sequence[str]] = (),
        known: Known = EMPTY,
        themes: Sequence[str] = tuple(THEMES),
    ) -> None:
        self.start_timeout = settings.start_timeout
        self.settings = settings_to(settings, corpus, known, themes)
        self.lines = 0
        self.versions: dict[str, str] = {}
        self._process: Process | None = None

    def __str__(self) -> str:
        return "a process"

    def start(self) -> None:
        """Start the process, unless it runs; raises SearchFailed."""
        if self._process is not None:
            return
        try:
            # Sets of strings have the same order in every process.
            process = launched(
                "conformance.fuzz.zygote",
                ["--settings", json.dumps(self.settings)],
                PYTHONHASHSEED="0",
            )
        except OSError as error:
            raise WorkerLost(str(error)) from None
        try:
            answer = process.greeting(self.start_timeout)
        except IsolationError as error:
            process.close()
            raise SearchFailed(str(error)) from None
        if "failed" in answer:
            process.close()
            raise SearchFailed(str(answer["failed"]))
        self.lines, self.versions = answer["lines"], answer["versions"]
        self._process = process

    def close(self) -> None:
        """End the process."""
        if self._process is not None:
            self._process.close()
            self._process = None

    def _asked(self, request: dict[str, Any]) -> dict[str, Any]:
        self.start()
        process = self._process
        try:
            if process is None:  # another thread has closed it
                raise WorkerLost("the process was ended")
            return dict(process.ask(request, PATIENCE))
        except (IsolationError, OSError, ValueError) as error:
            self.close()
            kind = SearchFailed if isinstance(error, TimedOut) else WorkerLost
            raise kind(str(error)) from None


class Here:
    """The stand-in of a zygote that draws in this process, for a debugger."""

    def __init__(
        self,
        settings: Settings,
        corpus: Sequence[Sequence[str]] = (),
        known: Known = EMPTY,
        themes: Sequence[str] = tuple(THEMES),
    ) -> None:
        self._search: Search = search_of(settings, corpus, known)
        self.share: Callable[[Share], Report] = self._search.share
        self.shrink = self._search.shrink
        self.lines = self._search.coverage.total()

    def start(self) -> None:
        """Nothing is left to begin."""

    def close(self) -> None:
        """Nothing is left to end."""


def local(
    settings: Settings,
    corpus: Sequence[Sequence[str]] = (),
    known: Known = EMPTY,
    themes: Sequence[str] = tuple(THEMES),
) -> Zygote | Here:
    """The worker of this machine: a zygote, or without isolation this process.

    Its shares are of these themes.
    """
    return (Zygote if settings.isolation else Here)(settings, corpus, known, themes)
