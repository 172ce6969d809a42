"""The crew of a search: workers, here or on other machines, each of which takes the next share."""

from __future__ import annotations

import itertools
import os
import threading
import time
from collections import Counter, deque
from collections.abc import Callable, Hashable, Iterator, Sequence
from typing import Any, Generic, TypeVar

from conformance.fuzz.workers import Here, SearchFailed, Worker, WorkerLost
from conformance.run.plan import WrongInput

Item = TypeVar("Item", bound=Hashable)
Result = TypeVar("Result")

LIVES = 3
"""Workers that may be lost with the same item, after which it counts as the reason."""

RETURN = (1.0, 2.0, 4.0, 8.0, 15.0)
"""Seconds between the attempts to start a lost worker again; the last for all that follow."""

ALONE = 60.0
"""Seconds without any worker after which a search ends."""


class NoWorkerLeft(SearchFailed):
    """All workers are lost, and none came back in time."""


class Crew:
    """Workers that each take the next item as soon as they have ended one.

    An item whose worker is lost goes to another. The lost worker is started again, as often as it
    takes: a machine may go and come back while the others work.
    """

    def __init__(self, workers: Sequence[Worker], alone: float = ALONE) -> None:
        """``alone`` are the seconds without any worker after which there is no hope."""
        self.workers, self.alone = list(workers), alone
        self._work: _Work[Any, Any] | None = None

    @property
    def lines(self) -> int:
        """How many lines the backend has; 0 if no worker has started."""
        return max(mine.lines for mine in self.workers)

    def start(self) -> None:
        """Start all workers at once; raises SearchFailed with the reasons of all that do not."""
        failures = dict[int, str]()

        def begin(place: int, mine: Worker) -> None:
            try:
                mine.start()
            except SearchFailed as error:
                failures[place] = str(error)

        threads = [
            threading.Thread(target=begin, args=one, daemon=True) for one in enumerate(self.workers)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        if failures:
            raise SearchFailed("\n".join(failures[place] for place in sorted(failures)))

    def each(
        self,
        items: Iterator[Item],
        work: Callable[[Worker, Item], Result],
        ended: Callable[[Item, Result | SearchFailed], None],
        notice: Callable[[str], None] = lambda text: None,
    ) -> None:
        """Do the work of each item on some worker; ``ended`` is called in this thread.

        So is ``notice``, with a sentence for each worker that is lost or comes back. Raises
        NoWorkerLeft, after which ``ended`` was not called for some items.
        """
        if isinstance(first := self.workers[0], Here):  # for a debugger: in the same thread
            for item in items:
                ended(item, _attempted(work, first, item))
            return
        self._work = going = _Work(items, work)
        for mine in self.workers:
            threading.Thread(target=going.take, args=(mine,), daemon=True).start()
        try:
            while (one := going.next_result(len(self.workers), self.alone)) is not None:
                if isinstance(one, str):
                    notice(one)
                else:
                    ended(*one)
        finally:
            going.stop()

    def replace(self, workers: Sequence[Worker]) -> None:
        """Go on with other workers; those that there are may be in the middle of something."""
        if self._work is not None:
            self._work.stop()
        self.close()
        self.workers = list(workers)

    def close(self) -> None:
        """End all workers."""
        for mine in self.workers:
            mine.close()


def _attempted(
    work: Callable[[Worker, Item], Result], mine: Worker, item: Item
) -> Result | SearchFailed:
    try:
        return work(mine, item)
    except SearchFailed as error:
        return error


class _Work(Generic[Item, Result]):
    """Items under way: those to come, those that come again, and the results so far."""

    def __init__(self, items: Iterator[Item], work: Callable[[Worker, Item], Result]) -> None:
        self._items, self._work = items, work
        self._again: deque[Item] = deque()
        self._losses: Counter[Item] = Counter()
        self._results: deque[tuple[Item, Result | SearchFailed] | str] = deque()
        self._busy = self._away = 0
        self._since = 0.0  # the last loss of a worker
        self._stopped = self._exhausted = False
        self._changed = threading.Condition()

    def take(self, mine: Worker) -> None:
        """Work on one item after the other until there are none; runs in a thread per worker."""
        while self._is_there(mine) and (item := self._next()) is not None:
            result: Result | SearchFailed | None
            try:
                result = self._work(mine, item)
            except WorkerLost as error:
                result = self._lost(mine, item, error)
            except SearchFailed as error:
                result = error
            with self._changed:
                self._busy -= 1
                if result is not None:
                    self._results.append((item, result))
                self._changed.notify_all()

    def next_result(
        self, workers: int, alone: float
    ) -> tuple[Item, Result | SearchFailed] | str | None:
        """The next item with its result, or a sentence about a worker; None after the last.

        Raises NoWorkerLeft where all ``workers`` have been away for ``alone`` seconds.
        """
        with self._changed:
            while True:
                if self._results:
                    return self._results.popleft()
                if self._is_done():
                    return None
                if self._away == workers and time.monotonic() - self._since >= alone:
                    raise NoWorkerLeft(f"all workers have been lost for {alone:g} s")
                # In short steps, so that an interruption is heeded.
                self._changed.wait(0.2)

    def stop(self) -> None:
        """Hand out no more items; threads end after their present one."""
        with self._changed:
            self._stopped = True
            self._changed.notify_all()

    def _next(self) -> Item | None:
        """The next item; waits while one may come again, because its worker may be lost."""
        with self._changed:
            while not self._stopped:
                item = self._again.popleft() if self._again else self._fresh()
                if item is not None:
                    self._busy += 1
                    return item
                if not self._busy:
                    break
                self._changed.wait()
            return None

    def _fresh(self) -> Item | None:
        if self._exhausted:
            return None
        item = next(self._items, None)
        self._exhausted = item is None
        return item

    def _is_done(self) -> bool:
        return self._exhausted and not self._busy and not self._again

    def _lost(self, mine: Worker, item: Item, error: WorkerLost) -> SearchFailed | None:
        """Give the item back after the loss of a worker; a failure if it was lost too often."""
        with self._changed:
            self._losses[item] += 1
            if self._losses[item] >= LIVES:
                return SearchFailed(f"{LIVES} workers were lost with it: {error}")
            self._again.append(item)
            if not self._stopped:
                self._results.append(f"{mine} is lost: {error}; {item} goes to another")
            return None

    def _is_there(self, mine: Worker) -> bool:
        """Start a worker that is lost, as soon as that can be; False where the work ends before.

        Of one that never works each item says why; one that comes back changed stays away.
        """
        for attempt in itertools.count():
            if self._stopped:
                return False
            try:
                mine.start()
                break
            except WorkerLost:
                pause = RETURN[min(attempt, len(RETURN) - 1)]
            except SearchFailed as error:
                if not attempt:
                    break
                with self._changed:
                    self._results.append(str(error))
                return False
            with self._changed:
                if not attempt:
                    self._away += 1
                    self._since = time.monotonic()
                if self._changed.wait_for(lambda: self._stopped or self._is_done(), pause):
                    return False
        with self._changed:
            if attempt:
                self._away -= 1
                self._results.append(f"{mine} is back")
                self._changed.notify_all()
        return True


def check_processes(processes: int | str) -> int:
    """The number of processes that `-n` asks for; raises WrongInput."""
    if processes == "auto":
        return os.cpu_count() or 1
    if not isinstance(processes, int):
        raise WrongInput(f"{processes!r} is no number of processes.")
    return processes
