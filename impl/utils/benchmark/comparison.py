"""`Compare`: measurements as a table, a row for each statement, a column for each description."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from enum import Enum
from typing import Any

from impl.utils.benchmark.measurement import Measurement, select_unit, trim_sigfig

_END = "\033[0m"
_BOLD = "\033[1m"
_UNITS = {"ns": "nanosecond", "us": "microsecond", "ms": "millisecond", "s": "second"}
_NOTE = "(! XX%) Measurement has high variance, where XX is the IQR / median * 100.\n"
_Found = Sequence[Measurement | None]


class Colorize(Enum):
    """The best value that colours are relative to (torch.utils.benchmark's Colorize)."""

    NONE = "none"
    COLUMNWISE = "columnwise"
    ROWWISE = "rowwise"


class Compare:
    """Measurements as a table, one for each label (torch.utils.benchmark.Compare)."""

    def __init__(self, results: Iterable[Measurement]) -> None:
        self._results: list[Measurement] = []
        self.extend_results(results)
        self._trim = self._highlight = False
        self._colorize = Colorize.NONE

    def extend_results(self, results: Iterable[Any]) -> None:
        """Add measurements. Raises ValueError for other objects."""
        found = list(results)
        for each in found:
            if not isinstance(each, Measurement):
                raise ValueError(
                    f"Expected an instance of `Measurement`, got {type(each)} instead."
                )
        self._results.extend(found)

    def trim_significant_figures(self) -> None:
        """Show the figures of times that are significant."""
        self._trim = True

    def colorize(self, rowwise: bool = False) -> None:
        """Colour times by the best of their column and number of threads, or of their row."""
        self._colorize = Colorize.ROWWISE if rowwise else Colorize.COLUMNWISE

    def highlight_warnings(self) -> None:
        """Mark times that vary much."""
        self._highlight = True

    def print(self) -> None:
        """Print the tables."""
        print(str(self))

    def __str__(self) -> str:
        groups: dict[Any, list[Measurement]] = {}
        for each in Measurement.merge(self._results):
            groups.setdefault(each.label, []).append(each)
        tables = [
            _Table(found, self._colorize, self._trim, self._highlight) for found in groups.values()
        ]
        return "\n".join(map(str, tables))


class _Table:
    """The table of the measurements of one label."""

    def __init__(
        self, results: list[Measurement], colorize: Colorize, trim: bool, highlight: bool
    ) -> None:
        self.results, self.colorize, self.trim, self.highlight = results, colorize, trim, highlight
        self.unit, self.scale = select_unit(min(each.median for each in results))
        keys = dict.fromkeys((m.num_threads, m.env, m.as_row_name) for m in results)
        self.keys = sorted(keys, key=lambda key: (key[0], str(key[1])))
        self.heads = list(dict.fromkeys(m.description for m in results))
        at = {(m.num_threads, m.env, m.as_row_name, m.description): m for m in results}
        self.rows = [[at.get((*key, head)) for head in self.heads] for key in self.keys]

    def _format(self, column: _Found) -> tuple[str, bool]:
        """The format of a column's times, and whether some of them are marked."""
        known = [each for each in column if each is not None]
        digits = [math.ceil(math.log10(each.median / self.scale)) for each in known]
        decimals = 1
        if self.trim:
            pairs = zip(known, digits, strict=True)
            decimals = min(max(each.significant_figures - d, 0) for each, d in pairs)
        length = max(digits) + decimals + bool(decimals)
        marked = self.highlight and any(each.has_warnings for each in known)
        return f"{{:>{length}.{decimals}f}}{{:>{7 if marked else 0}}}", marked

    def _time(self, found: Measurement | None, form: tuple[str, bool]) -> str:
        text, marked = form
        if found is None:
            return " " * len(text.format(trim_sigfig(1, 1) if self.trim else 1, ""))
        value = found.median / self.scale
        if self.trim:
            value = trim_sigfig(value, found.significant_figures)
        spread = found.iqr / found.median * 100
        return text.format(value, f" (! {spread:.0f}%)" if marked and found.has_warnings else "")

    def _names(self) -> list[str]:
        """The first column: the statements, behind their environment where there are several."""
        shown = {m.env for m in self.results}
        width = max(len(str(env)) for env in shown) if len(shown) > 1 else 0
        names, before = [], None
        for key in self.keys:
            new = len(shown) > 1 and key[:2] != before
            names.append("  " + (f"({key[1]})" if new else "").ljust(width + 4) + key[2])
            before = key[:2]
        return names

    def _best(self, row: int, column: int) -> float:
        if self.colorize is Colorize.ROWWISE:
            known = self.rows[row]
        else:
            threads = self.keys[row][0]
            pairs = zip(self.keys, self.rows, strict=True)
            known = [found[column] for key, found in pairs if key[0] == threads]
        return min(each.median for each in known if each is not None)

    def _coloured(self, text: str, row: int, column: int) -> str:
        found = self.rows[row][column]
        if self.colorize is Colorize.NONE or found is None:
            return text
        value, best = found.median, self._best(row, column)
        if value <= best * 1.01 or value <= best + 100e-9:
            return f"\033[92m{_BOLD}{text}{_END}{_END}"
        if value <= best * 1.1:
            return f"\033[34m{_BOLD}{text}{_END}{_END}"
        if value >= best * 5:
            return f"\033[31m{_BOLD}{text}{_END}{_END}"
        if value >= best * 2:
            return f"\033[2m\033[91m{text}{_END}{_END}"
        return text

    def __str__(self) -> str:
        forms = [self._format(column) for column in zip(*self.rows, strict=True)]
        texts = [[self._time(f, form) for f, form in zip(r, forms, strict=True)] for r in self.rows]
        cells: list[list[Any]] = [["", *self.heads]]
        cells += [[name, *times] for name, times in zip(self._names(), texts, strict=True)]
        widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
        pairs = zip(cells[0], widths, strict=True)
        lines = ["  |  ".join(text.center(width) for text, width in pairs)]
        whole = len(lines[0])
        before = None
        for row, (name, *times) in enumerate(cells[1:]):
            threads = self.keys[row][0]
            if threads != before:
                lines.append(f"{threads} threads: ".ljust(whole, "-"))
                before = threads
            shown = [
                self._coloured(text.center(width), row, column)
                for column, (text, width) in enumerate(zip(times, widths[1:], strict=True))
            ]
            lines.append("  |  ".join([name.ljust(widths[0]), *shown]))
        marked = self.highlight and any(each.has_warnings for each in self.results)
        title = f"[{(' ' + (self.results[0].label or '') + ' ').center(whole - 2, '-')}]"
        end = f"Times are in {_UNITS[self.unit]}s ({self.unit})."
        return "\n".join([title, *lines, "", end, _NOTE if marked else ""])
