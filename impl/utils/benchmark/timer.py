"""`Timer`: the time of a statement, measured with one thread."""

from __future__ import annotations

import statistics
import sys
import timeit
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from enum import Enum
from textwrap import dedent
from typing import Any

from impl.core.context import get_num_threads, set_num_threads
from impl.utils.benchmark.measurement import Measurement, TaskSpec

timer = timeit.default_timer


class Language(Enum):
    """The language of a statement; impl times Python only (torch.utils.benchmark.Language)."""

    PYTHON = 0
    CPP = 1


@contextmanager
def _threads(number: int) -> Iterator[None]:
    before: Any = get_num_threads()
    try:
        set_num_threads(number)
        yield
    finally:
        set_num_threads(before)


def _dedented(text: str) -> str:
    return dedent(text).removeprefix("\n").rstrip()


class Timer:
    """Times a statement of Python (torch.utils.benchmark.Timer). Raises ValueError for a statement
    that is no text, and for another language."""

    def __init__(
        self,
        stmt: str = "pass",
        setup: str = "pass",
        global_setup: str = "",
        timer: Callable[[], float] = timer,
        globals: dict[str, Any] | None = None,
        label: str | None = None,
        sub_label: str | None = None,
        description: str | None = None,
        env: str | None = None,
        num_threads: int = 1,
        language: Language | str = Language.PYTHON,
    ) -> None:
        given: object = stmt
        if not isinstance(given, str):
            raise ValueError("Currently only a `str` stmt is supported.")
        if language in (Language.CPP, "cpp", "c++"):
            raise NotImplementedError("impl times statements of Python only")
        if language not in (Language.PYTHON, "py", "python"):
            raise ValueError(f"Invalid language `{language}`.")
        if global_setup:
            raise ValueError(
                f"global_setup is C++ only, got `{global_setup}`. Most likely this code can simply "
                "be moved to `setup`."
            )
        names: dict[str, Any] = {
            "torch": sys.modules[__name__.partition(".")[0]],
            **(globals or {}),
        }
        stmt, setup = _dedented(stmt), _dedented(setup)
        self._timer = timeit.Timer(stmt, setup, timer, names)
        self._task_spec = TaskSpec(
            stmt, setup, global_setup, label, sub_label, description, env, num_threads
        )

    def _timeit(self, number: int) -> float:
        return max(self._timer.timeit(number), 1e-9)

    def _measurement(self, number: int, times: list[float]) -> Measurement:
        return Measurement(number, times, self._task_spec)

    def timeit(self, number: int = 1000000) -> Measurement:
        """The time of that many executions, after some to warm up."""
        with _threads(self._task_spec.num_threads):
            self._timeit(max(number // 100, 2))
            return self._measurement(number, [self._timeit(number)])

    def repeat(self, repeat: int = -1, number: int = -1) -> None:
        """Raise NotImplementedError, as torch."""
        raise NotImplementedError("See `Timer.blocked_autorange.`")

    def autorange(self, callback: Any = None) -> None:
        """Raise NotImplementedError, as torch."""
        raise NotImplementedError("See `Timer.blocked_autorange.`")

    def _block(self, min_run_time: float) -> int:
        """How many executions one time stands for, so that the clock's cost is small beside it."""
        overhead = statistics.median(self._timeit(0) for _ in range(5))
        number = 1
        while number * 10 <= 2147483647:
            taken = self._timeit(number)
            long_enough = overhead / taken <= 1e-4 and taken >= min_run_time / 1000
            if long_enough or taken > min_run_time:
                break
            number *= 10
        return number

    def blocked_autorange(
        self, callback: Callable[[int, float], Any] | None = None, min_run_time: float = 0.2
    ) -> Measurement:
        """The times of blocks of executions, which together take `min_run_time` seconds."""
        return self._measured(min_run_time, min_run_time, None, callback, lambda found: True)

    def adaptive_autorange(
        self,
        threshold: float = 0.1,
        *,
        min_run_time: float = 0.01,
        max_run_time: float = 10.0,
        callback: Callable[[int, float], Any] | None = None,
    ) -> Measurement:
        """The times of blocks of executions, until they vary little or `max_run_time` is over."""

        def settled(found: Measurement) -> bool:
            return len(found.raw_times) > 3 and found.meets_confidence(threshold)

        return self._measured(0.05, min_run_time, max_run_time, callback, settled)

    def _measured(
        self,
        block_time: float,
        min_run_time: float,
        max_run_time: float | None,
        callback: Callable[[int, float], Any] | None,
        settled: Callable[[Measurement], bool],
    ) -> Measurement:
        with _threads(self._task_spec.num_threads):
            number = self._block(block_time)
            found = self._measurement(number, [])
            while sum(found.raw_times) < min_run_time or not settled(found):
                found.raw_times.append(self._timeit(number))
                if callback is not None:
                    callback(number, found.raw_times[-1])
                if max_run_time and sum(found.raw_times) > max_run_time:
                    break
        return found
