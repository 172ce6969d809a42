"""Threads that differentiate with impl's engine at the same time."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from typing import Any

from made_graphs import leaf

import impl


def together(count: int, work: Callable[[int], Any]) -> list:
    """The results of `work(0)`, `work(1)`, ... run by as many threads at the same time."""
    barrier = threading.Barrier(count)
    results: list = [None] * count

    def run(number: int) -> None:
        barrier.wait()
        try:
            results[number] = work(number)
        except BaseException as error:
            results[number] = error

    threads = [threading.Thread(target=run, args=(n,)) for n in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return results


def test_threads_differentiate_graphs_of_their_own():
    interval = sys.getswitchinterval()

    def work(number: int):
        x = leaf(float(number))
        for _ in range(20):
            x.grad = None
            y = x
            for _ in range(20):
                y = y * 1 + x
            (y * y).backward()
        return x.grad.item()

    sys.setswitchinterval(1e-5)
    try:
        results = together(6, work)
    finally:
        sys.setswitchinterval(interval)
    assert results == [2 * 21 * 21 * float(n) for n in range(6)]


def test_each_thread_has_a_grad_mode_of_its_own():
    def work(number: int):
        before = impl.is_grad_enabled()
        with impl.set_grad_enabled(number % 2 == 0):
            y = leaf() * 2
            return before, y.requires_grad

    with impl.no_grad():
        results = together(4, work)
        assert not impl.is_grad_enabled()
    assert results == [(True, True), (True, False)] * 2


def test_nodes_of_all_threads_have_numbers_of_their_own():
    numbers = together(4, lambda _: [(leaf() * 2).grad_fn._sequence_nr() for _ in range(500)])
    flat = [n for made in numbers for n in made]
    assert len(set(flat)) == len(flat) == 2000
    assert all(made == sorted(made) for made in numbers)
