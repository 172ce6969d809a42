"""The crew of a search: workers that are lost, that come back, and that do not."""

from __future__ import annotations

import time

import pytest

from conformance.fuzz import crew as crews
from conformance.fuzz.crew import Crew, NoWorkerLeft
from conformance.fuzz.workers import SearchFailed, WorkerLost


class Scripted:
    """A worker that is lost with some items, and does not start again some times."""

    lines = 7

    def __init__(self, name="one", lost=(), refuses=0):
        self.name, self.lost = name, list(lost)
        self.refuses, self.absences = 0, refuses

    def __str__(self):
        return self.name

    def start(self):
        if self.refuses:
            self.refuses -= 1
            raise WorkerLost("not yet")

    def close(self):
        pass

    def work(self, item):
        if item in self.lost:
            self.lost.remove(item)
            self.refuses = self.absences
            raise WorkerLost("gone")
        return item * item


@pytest.fixture(autouse=True)
def _soon(monkeypatch):
    monkeypatch.setattr(crews, "RETURN", (0.01,))


def worked(crew, items=range(20)):
    """The results by item, and the sentences about workers."""
    results, told = {}, []
    crew.each(
        iter(items), lambda mine, item: mine.work(item), results.__setitem__, notice=told.append
    )
    return results, told


def test_a_lost_item_goes_to_another_worker_and_the_lost_one_comes_back():
    crew = Crew([Scripted(name, lost=[2], refuses=2) for name in ("one", "two")])
    results, told = worked(crew)
    assert results == {n: n * n for n in range(20)}
    assert told[0] in [f"{name} is lost: gone; 2 goes to another" for name in ("one", "two")]


def test_the_only_worker_draws_a_lost_item_again_when_it_is_back():
    results, told = worked(Crew([Scripted(lost=[3, 3], refuses=1)]))
    assert results == {n: n * n for n in range(20)}
    assert told == ["one is lost: gone; 3 goes to another", "one is back"] * 2


def test_an_item_with_which_every_worker_is_lost_is_a_failure_of_its_own():
    results, _ = worked(Crew([Scripted(name, lost=[4] * 9) for name in ("one", "two")]))
    assert isinstance(results.pop(4), SearchFailed)
    assert results == {n: n * n for n in range(20) if n != 4}


def test_a_crew_without_workers_ends_and_keeps_the_results():
    crew = Crew([Scripted(name, lost=range(6, 20), refuses=10**6) for name in "ab"], alone=0.3)
    results, begun = {}, time.monotonic()
    with pytest.raises(NoWorkerLeft):
        crew.each(iter(range(20)), lambda mine, item: mine.work(item), results.__setitem__)
    assert results == {n: n * n for n in range(6)}
    assert time.monotonic() - begun < 10


def test_every_worker_that_does_not_start_is_named():
    class Absent(Scripted):
        def start(self):
            raise SearchFailed(f"{self.name} is not there")

    with pytest.raises(SearchFailed, match="a is not there\nc is not there"):
        Crew([Absent("a"), Scripted("b"), Absent("c")]).start()
