"""Progress of a run while it runs, and its summary afterwards, in a terminal or in a log."""

from __future__ import annotations

import shlex
import time
from collections import Counter
from collections.abc import Mapping
from typing import Any

import pytest
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table
from rich.text import Text

from conformance.base.escapes import printable
from conformance.base.levels import LEVEL_VERDICTS, NOT_COMPARED
from conformance.isolation.port import is_port
from conformance.output.causes import cause_lines
from conformance.output.display import cut
from conformance.output.failure import headlines
from conformance.output.terminal import Terminal
from conformance.run.collector import PLAN
from conformance.run.ending import Result, meaning
from conformance.run.plan import Plan
from conformance.run.sides import isolation
from conformance.run_files.causes import reasons
from conformance.run_files.identity import named
from conformance.run_files.qualified_claims import qualified_claims, texts
from conformance.run_files.times import Times, times
from conformance.run_files.totals import is_known, level_totals, totals

PERIOD = 10.0
"""Seconds between two lines of progress where there is no terminal."""

FIRST = 10
"""Programs of each other kind that the summary shows."""

_STYLES = {
    "conforms": "green",
    "diverges": "red",
    "unsupported": "yellow",
    "error": "magenta",
    "not_run": "yellow",
    "known": "cyan",
    "other_version": "cyan",
}


_TITLES = {
    "known": "known divergences",
    "other_version": "as another version of torch",
}


class Bar:
    """A bar of progress; nothing where there is no terminal."""

    def __init__(self, console: Console, total: int) -> None:
        self.drawn = console.is_terminal
        self._progress: Progress | None = None
        if self.drawn:
            self._progress = Progress(
                BarColumn(),
                MofNCompleteColumn(),
                TextColumn("{task.description}"),
                TimeElapsedColumn(),
                console=console,
                transient=True,
            )
            self._progress.add_task("", total=total)
            self._progress.start()

    def show(self, done: int, status: str) -> None:
        """Fill the bar up to ``done``, and write ``status`` next to it."""
        if self._progress is not None:
            self._progress.update(self._progress.task_ids[0], completed=done, description=status)

    def stop(self) -> None:
        """Remove the bar; safe to call twice."""
        if self._progress is not None:
            self._progress.stop()
            self._progress = None


class Watcher:
    """The pytest plugin that `conform run` watches a run with, instead of pytest's own reporter."""

    def __init__(self, made: Plan, console: Terminal) -> None:
        self.plan = made
        self.console = console
        self.result: Result | None = None
        self.refused = self.broken = False
        self._counts: Counter[str] = Counter()
        self._total = 0
        self._begun = self._shown = time.monotonic()
        self._bar: Bar | None = None

    @pytest.hookimpl(trylast=True)
    def pytest_configure(self, config: pytest.Config) -> None:
        config.stash[PLAN] = self.plan
        config.pluginmanager.unregister(name="terminalreporter")

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        if report.failed:
            self.console.print(Text(report.longreprtext))

    def pytest_internalerror(self, excinfo: pytest.ExceptionInfo[BaseException]) -> bool | None:
        if self._total or not isinstance(excinfo.value, OSError):
            self.broken = True
            return None
        self.console.print(Text(f"conform: a worker cannot be started: {excinfo.value}"))
        self.refused = True
        return True

    def pytest_conform_started(self, header: Mapping[str, Any]) -> None:
        self._total = header["programs"] - len(self.plan.taken)
        self._begun = self._shown = time.monotonic()
        self._bar = Bar(self.console, self._total)

    def pytest_conform_judged(self, line: Mapping[str, Any]) -> None:
        if not self._counts:
            self._begun = time.monotonic()  # without the start of the processes
        self._counts["known" if is_known(line) else line["outcome"]] += 1
        if self._bar is not None and self._bar.drawn:
            self._bar.show(self._counts.total(), self._status())
        elif time.monotonic() - self._shown >= PERIOD:
            self._shown = time.monotonic()
            done = self._counts.total()
            self.console.print(Text(f"{done} of {self._total}: {self._status()}"))

    def pytest_conform_finished(self, result: Result) -> None:
        self.result = result
        self.stop()

    def stop(self) -> None:
        """Remove the bar; safe to call twice."""
        if self._bar is not None:
            self._bar.stop()

    def _status(self) -> str:
        done = self._counts.total()
        rate = done / max(time.monotonic() - self._begun, 1e-6)
        counts = ", ".join(f"{n} {name.replace('_', ' ')}" for name, n in self._counts.items())
        left = (self._total - done) / rate if rate else 0
        return f"{counts}; {rate:.0f}/s, {left:.0f} s left"


def announce(console: Terminal, made: Plan) -> None:
    """Print the backend, the oracle and the number of programs."""
    backend, oracle = made.backend, made.oracle
    console.print(
        Text(
            f"{named(backend)} against {named(oracle)}: {len(made.programs)} of "
            f"{len(made.suite.programs)} programs, "
            f"levels {', '.join(made.settings.selection.levels)}"
        ),
        soft_wrap=True,
    )
    if made.left_out:
        console.print(
            Text(
                f"not run: {made.left_out} more, which are about other devices than that of "
                f"{backend['name']} ({backend['device'] or 'none'})"
            ),
            soft_wrap=True,
        )
    if is_port(backend["name"]) or not made.settings.isolation:
        console.print(Text(f"isolation: {isolation(made.settings)}"), soft_wrap=True)
    if made.taken:
        console.print(
            Text(f"{len(made.taken)} more are taken over from {made.settings.resume}"),
            soft_wrap=True,
        )


def summarise(console: Terminal, result: Result) -> None:
    """Print how a run ended: levels, outcomes, causes, errors in ULP, files, exit."""
    console.print()
    console.print(_level_table(result))
    console.print(_outcomes(result))
    levels = tuple(result.header["selection"]["levels"])
    for text in cause_lines(result.causes, result.settings):
        style = _STYLES["diverges"] if not text.startswith(" ") else ""
        console.print(Text(text, style=style), soft_wrap=True)
    for outcome in NOT_COMPARED:
        _print_reasons(console, outcome, result)
    _print_some(console, "known", [line for line in result.lines if is_known(line)], levels)
    others = [line for line in result.lines if line["outcome"] == "other_version"]
    _print_some(console, "other_version", others, levels)
    if allowed := sum("permitted" in line for line in result.lines):
        console.print(Text(f"permitted differences, where a port may differ: {allowed:,} programs"))
    for sentence in result.stale:
        console.print(Text(f"known divergence gone: {sentence}", style="red"))
    if worst := _largest_errors(result):
        console.print(Text("largest error in ULP: " + ", ".join(worst)), soft_wrap=True)
    if (spent := times(result.lines)).total:
        console.print(Text(_work(spent)), soft_wrap=True)
    for text in _claims(result):
        console.print(Text(f"supports: {text}"), soft_wrap=True)
    for what, path in result.files.items():
        console.print(Text(f"{what}: {path}"), soft_wrap=True)
    for fault in result.faults:
        console.print(Text(fault, style="red"))
    style = "green" if result.exit == 0 else "red"
    console.print(Text(f"exit code {result.exit}: {meaning(result)}", style=style))


def _claims(result: Result) -> list[str]:
    """The claims that this run supports, in words."""
    if result.footer is None:
        return []
    return texts(qualified_claims(result.header, result.lines, result.footer.get("claims", {})))


def _level_table(result: Result) -> Table:
    counted = result.header["selection"]["levels"]
    table = Table(box=None, pad_edge=False)
    table.add_column("level")
    for verdict in LEVEL_VERDICTS:
        table.add_column(verdict.replace("_", " "), justify="right")
    for level, verdicts in level_totals(result.lines).items():
        name = level if level in counted else f"{level} (does not count)"
        table.add_row(name, *(str(verdicts[verdict]) for verdict in LEVEL_VERDICTS))
    return table


def _outcomes(result: Result) -> Text:
    text = Text("programs: ")
    known = sum(1 for line in result.lines if is_known(line))
    counts = {**totals(result.lines), "known": known}
    counts["diverges"] -= known
    shown = [(name, n) for name, n in counts.items() if n or name in ("conforms", "diverges")]
    for position, (name, n) in enumerate(shown):
        word = "known divergences" if name == "known" else name.replace("_", " ")
        text.append(", " if position else "")
        text.append(f"{n} {word}", style=_STYLES[name] if n else "")
    missing = result.header["programs"] - len(result.lines)
    return text.append(f", {missing} not reached") if missing else text


def _print_some(
    console: Terminal, outcome: str, lines: list[dict[str, Any]], levels: tuple[str, ...]
) -> None:
    if not lines:
        return
    title = _TITLES.get(outcome, outcome)
    console.print(Text(f"{title.replace('_', ' ')}:", style=_STYLES[outcome]))
    for line, (text, *sentence) in zip(lines, headlines(lines[:FIRST], levels), strict=False):
        if outcome == "known":
            text += f"  ({printable(line['known']['reason'])})"
        for shown in (text, *sentence):
            console.print(Text(f"  {shown}"), soft_wrap=True)
    if len(lines) > FIRST:
        console.print(Text(f"  ... and {len(lines) - FIRST} more"))


def _print_reasons(console: Terminal, outcome: str, result: Result) -> None:
    """Print why programs were not compared, a line for each reason with one of its programs."""
    told = reasons(result.lines, outcome)
    if not told:
        return
    console.print(Text(f"{outcome.replace('_', ' ')}:", style=_STYLES[outcome]))
    for reason, lines in told[:FIRST]:
        console.print(
            Text(f"  {len(lines):,} x {_begin(reason)}, such as {lines[0]['id']}"), soft_wrap=True
        )
    if rest := told[FIRST:]:
        left = sum(len(lines) for _, lines in rest)
        console.print(Text(f"  ... and {left:,} for {len(rest):,} more reasons"))
    if outcome == "unsupported" and "run file" in result.files:
        path = shlex.quote(str(result.files["run file"]))
        console.print(Text(f"  the way on: conform todo {path}"), soft_wrap=True)


def _begin(reason: str) -> str:
    """The first lines of a reason, on one line; the output of a process may be long."""
    first, *more = reason.split("\n")
    return cut(" ".join([first, *more[:2]]), 240)


def _work(spent: Times) -> str:
    """The seconds of work on each area, the most first, in however many processes."""
    areas = ", ".join(f"{area.area} {area.total:.1f}" for area in spent.areas)
    return f"seconds of work: {spent.total:.1f} ({areas})"


def _largest_errors(result: Result) -> list[str]:
    """Per dtype the largest error within the tolerance, and the ID of its program."""
    worst: dict[str, tuple[float, str]] = {}
    for line in result.lines:
        if line["levels"].get("values") != "conforms":
            continue
        for dtype, error in line["ulp"].items():
            if (value := float(error)) > worst.get(dtype, (0.0, ""))[0]:
                worst[dtype] = (value, line["id"])
    return [f"{dtype} {value:g} ({name})" for dtype, (value, name) in sorted(worst.items())]
