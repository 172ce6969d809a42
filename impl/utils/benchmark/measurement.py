"""Measurements of a statement: its times, their median and spread, and their text."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, fields
from textwrap import indent
from typing import Any

import numpy as np

_SCALES = {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1}


@dataclass(repr=False, frozen=True)
class TaskSpec:
    """The statement that is measured, and how (torch.utils.benchmark.TaskSpec)."""

    stmt: str
    setup: str
    global_setup: str = ""
    label: str | None = None
    sub_label: str | None = None
    description: str | None = None
    env: str | None = None
    num_threads: int = 1

    @property
    def title(self) -> str:
        """The label, or the statement."""
        beside = f": {self.sub_label}" if self.sub_label else ""
        if self.label is not None:
            return self.label + beside
        if "\n" not in self.stmt:
            return self.stmt + beside
        beside = f" ({self.sub_label})" if self.sub_label else ""
        return f"stmt:{beside}\n{indent(self.stmt, '  ')}"

    def setup_str(self) -> str:
        """The text of the setup, empty without one."""
        if self.setup in ("pass", ""):
            return ""
        if "\n" in self.setup:
            return f"setup:\n{indent(self.setup, '  ')}"
        return f"setup: {self.setup}"

    def summarize(self) -> str:
        """The title, the description and the setup."""
        parts = self.title, self.description or "", self.setup_str()
        return "\n".join(f"{part}\n" if "\n" in part else part for part in parts if part)


_OF_TASK = tuple(field.name for field in fields(TaskSpec))


@dataclass(repr=False)
class Measurement:
    """The times of several runs of a statement, in seconds (torch.utils.benchmark.Measurement)."""

    number_per_run: int
    raw_times: list[float]
    task_spec: TaskSpec
    metadata: dict[Any, Any] | None = None

    def __getattr__(self, name: str) -> Any:
        if name in _OF_TASK:
            return getattr(self.task_spec, name)
        raise AttributeError(f"'Measurement' object has no attribute {name!r}")

    @property
    def times(self) -> list[float]:
        """The time of one execution, for each run."""
        return [each / self.number_per_run for each in self.raw_times]

    def _quantile(self, part: float) -> float:
        return float(np.quantile(self.times, part)) if self.raw_times else -1.0

    @property
    def median(self) -> float:
        """The median of the times."""
        return self._quantile(0.5)

    @property
    def mean(self) -> float:
        """The mean of the times."""
        return float(np.mean(self.times)) if self.raw_times else -1.0

    @property
    def iqr(self) -> float:
        """The distance of the quartiles."""
        return self._quantile(0.75) - self._quantile(0.25)

    @property
    def significant_figures(self) -> int:
        """How many figures of the median are significant: one to four."""
        ordered = sorted(self.times)
        n = len(ordered)
        middle = ordered[n // 4 : math.ceil(3 * n / 4)]
        width = max(1.645 * float(np.std(middle)) / math.sqrt(len(middle)), 2.5e-8)
        return min(max(math.floor(math.log10(self.median / width)), 1), 4)

    def meets_confidence(self, threshold: float = 0.1) -> bool:
        """Whether the quartiles are nearer than that part of the median."""
        return self.iqr / self.median < threshold

    @property
    def has_warnings(self) -> bool:
        """Whether the times vary much."""
        return bool(self._warnings())

    def _warnings(self) -> list[str]:
        if not self.raw_times or self.meets_confidence(0.1):
            return []
        part = self.iqr / self.median * 100
        severe = not self.meets_confidence(0.25)
        told = (
            "This suggests significant environmental influence."
            if severe
            else "This could indicate system fluctuation."
        )
        first = f"  WARNING: Interquartile range is {part:.1f}% of the median measurement."
        return [f"{first}\n           {told}"]

    @property
    def title(self) -> str:
        """The title of the statement."""
        return self.task_spec.title

    @property
    def as_row_name(self) -> str:
        """The name of the statement in a table."""
        return self.sub_label or self.stmt or "[Unknown]"

    def __repr__(self) -> str:
        n = len(self.raw_times)
        unit, scale = select_unit(self.median)
        low, high = self._quantile(0.25) / scale, self._quantile(0.75) / scale
        lines = [object.__repr__(self), self.task_spec.summarize()]
        lines.append(f"  {'Median: ' if n > 1 else ''}{self.median / scale:.2f} {unit}")
        if n >= 4:
            lines.append(f"  IQR:    {self.iqr / scale:.2f} {unit} ({low:.2f} to {high:.2f})")
        runs = f"{self.number_per_run} runs {'per measurement,' if n > 1 else ','}"
        threads = f"{self.num_threads} thread{'s' if self.num_threads > 1 else ''}"
        lines.append(f"  {n} measurement{'s' if n > 1 else ''}, {runs} {threads}")
        return "\n".join([*lines, *self._warnings()]).strip()

    @staticmethod
    def merge(measurements: Iterable[Measurement]) -> list[Measurement]:
        """One measurement for each statement."""
        times: dict[TaskSpec, list[float]] = {}
        for each in measurements:
            times.setdefault(each.task_spec, []).extend(each.times)
        return [Measurement(1, found, spec) for spec, found in times.items()]


def select_unit(t: float) -> tuple[str, float]:
    """The unit in which a time is shown, and the unit's seconds."""
    exponent = math.log10(t) // 3 if t > 0 else 0
    unit = {-3: "ns", -2: "us", -1: "ms"}.get(int(exponent), "s")
    return unit, _SCALES[unit]


def trim_sigfig(x: float, n: int) -> float:
    """A number rounded to `n` significant figures."""
    if n != int(n):
        raise AssertionError("Number of significant figures must be an integer")
    scale = 10.0 ** (math.ceil(math.log10(abs(x))) - n)
    return round(x / scale) * scale
