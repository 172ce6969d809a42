"""The crew of a search: one zygote per core, each of which takes the next share."""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from conformance.fuzz.causes import Cause
from conformance.fuzz.examiner import EMPTY
from conformance.fuzz.search import Search
from conformance.fuzz.setup import search_of
from conformance.fuzz.share import Report, Share
from conformance.fuzz.zygote import settings_to
from conformance.isolation.process import IsolationError, Process, launched
from conformance.run.plan import WrongInput
from conformance.settings.settings import Settings

Known = Mapping[str, Sequence[str]]
PATIENCE = 7200.0
"""Seconds that a share may take; the zygote watches each program itself."""


class SearchFailed(Exception):
    """A share was not drawn to its end; says why."""


class Zygote:
    """One zygote, started by the first request."""

    def __init__(
        self,
        settings: Settings,
        corpus: Sequence[Sequence[str]] = (),
        known: Known = EMPTY,
    ) -> None:
        self.settings, self.corpus = settings, [list(statements) for statements in corpus]
        self.known = known
        self.lines = 0
        self._process: Process | None = None

    def share(self, share: Share) -> Report:
        """The report of a share; raises SearchFailed."""
        return Report.from_json(self._asked({"share": vars(share)})["report"])

    def shrink(self, statements: Sequence[str], cause: Cause) -> tuple[list[str], Cause]:
        """A smaller program with the same cause, and its own cause; raises SearchFailed."""
        answer = self._asked({"shrink": list(statements), "cause": vars(cause)})
        return answer["shrunk"], Cause(**answer["cause"])

    def close(self) -> None:
        """End the process."""
        if self._process is not None:
            self._process.close()
            self._process = None

    def _asked(self, request: dict[str, Any]) -> dict[str, Any]:
        try:
            answer = self._started().ask(request, PATIENCE)
        except (IsolationError, OSError, ValueError) as error:
            self.close()
            raise SearchFailed(str(error)) from None
        if "failed" in answer:
            raise SearchFailed(str(answer["failed"]))
        return dict(answer)

    def _started(self) -> Process:
        if self._process is not None:
            return self._process
        settings = json.dumps(settings_to(self.settings, self.corpus, self.known))
        # Sets of strings have the same order in every process.
        process = launched("conformance.fuzz.zygote", ["--settings", settings], PYTHONHASHSEED="0")
        try:
            answer = process.greeting(self.settings.start_timeout)
        except IsolationError:
            process.close()
            raise
        if "failed" in answer:
            process.close()
            raise SearchFailed(str(answer["failed"]))
        self.lines = answer["lines"]
        self._process = process
        return process


class Here:
    """The stand-in of a zygote that draws in this process, for a debugger."""

    def __init__(
        self,
        settings: Settings,
        corpus: Sequence[Sequence[str]] = (),
        known: Known = EMPTY,
    ) -> None:
        self._search: Search = search_of(settings, corpus, known)
        self.share: Callable[[Share], Report] = self._search.share
        self.shrink = self._search.shrink

    @property
    def lines(self) -> int:
        """How many lines the backend has."""
        return self._search.coverage.total()

    def close(self) -> None:
        """Nothing is left to end."""


def worker(
    settings: Settings, corpus: Sequence[Sequence[str]] = (), known: Known = EMPTY
) -> Zygote | Here:
    """The worker for these settings: a zygote, or without isolation this process."""
    return (Zygote if settings.isolation else Here)(settings, corpus, known)


class Crew:
    """Several workers; each takes the next share as soon as it has ended one."""

    def __init__(
        self,
        settings: Settings,
        corpus: Sequence[Sequence[str]] = (),
        processes: int = 1,
        known: Known = EMPTY,
    ) -> None:
        self._given, self._stopped = (settings, corpus, known), False
        self.workers = [worker(*self._given) for _ in range(max(1, processes))]

    def run(
        self, shares: Iterator[Share], ended: Callable[[Share, Report | SearchFailed], None]
    ) -> None:
        """Draw all shares; `ended` is called in this thread, as they end."""
        if len(self.workers) == 1:
            for share in shares:
                ended(share, _reported(self.workers[0], share))
            return
        lock, done = threading.Condition(), list[tuple[Share, Report | SearchFailed]]()
        left = [len(self.workers)]

        def take(mine: Zygote | Here) -> None:
            while True:
                with lock:
                    share = None if self._stopped else next(shares, None)
                if share is None:
                    break
                report = _reported(mine, share)
                with lock:
                    done.append((share, report))
                    lock.notify()
            with lock:
                left[0] -= 1
                lock.notify()

        for mine in self.workers:
            threading.Thread(target=take, args=(mine,), daemon=True).start()
        while True:
            with lock:
                while not done and left[0]:
                    lock.wait(0.2)
                ready, done[:] = list(done), []
            if not ready and not left[0]:
                return
            for share, report in ready:
                ended(share, report)

    def interrupt(self) -> None:
        """End all workers, which may be in the middle of a share, and begin with a new one."""
        self._stopped = True
        self.close()
        self.workers = [worker(*self._given)]

    def close(self) -> None:
        """End all workers."""
        for mine in self.workers:
            mine.close()


def _reported(mine: Zygote | Here, share: Share) -> Report | SearchFailed:
    try:
        return mine.share(share)
    except SearchFailed as error:
        return error


def check_processes(processes: int | str) -> int:
    """The number of processes that `-n` asks for; raises WrongInput."""
    if processes == "auto":
        return os.cpu_count() or 1
    if not isinstance(processes, int):
        raise WrongInput(f"{processes!r} is no number of processes.")
    return processes
