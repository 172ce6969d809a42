"""Progress of random programs while they are drawn, findings as they come in, and a summary."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterable

from rich.console import Console
from rich.text import Text

from conformance.fuzz.causes import Cause
from conformance.fuzz.report import Finding
from conformance.fuzz.share import Found, Report, Share, Turn
from conformance.fuzz.workers import SearchFailed
from conformance.run.plan import Plan
from conformance.run.progress import PERIOD, Bar, named
from conformance.run_files.totals import is_known

SETTLED = ("conforms", "diverges", "rounding", "known", "malformed")
"""Outcomes of programs that were compared, or that are no programs."""


class Tally:
    """The sum of the reports of a search's shares so far, and its output."""

    def __init__(self, console: Console, total: int | None) -> None:
        """``total`` is the number of programs; None for a search that ends with its time."""
        self.console, self.total = console, total
        self.outcomes: Counter[str] = Counter()
        self.lacking: Counter[str] = Counter()
        self.causes: dict[Cause, tuple[Share, Found]] = {}
        self.findings: list[Finding] = []
        self.lost: list[tuple[Share, list[str], str]] = []
        self.faults: list[str] = []
        self.reached: list[tuple[list[str], list[tuple[str, int]]]] = []
        self.lines: set[tuple[str, int]] = set()
        self.seconds: dict[str, float] = {}
        self.drawn = 0
        self._waiting: dict[int, tuple[Share, Report | SearchFailed]] = {}
        self._added = 0
        self.complete = False
        self._begun = self._shown = time.monotonic()
        self._bar = Bar(console, total or 0)

    def announce(self, made: Plan, themes: Iterable[str]) -> None:
        """Print the backend, the oracle, and how many programs are drawn."""
        settings = made.settings
        count = "" if self.total is None else f"{self.total} "
        text = (
            f"{named(made.backend)} against {named(made.oracle)}: "
            f"{count}random programs ({', '.join(themes)}), seed {settings.seed}, "
            f"levels {', '.join(settings.selection.levels)}"
        )
        self.console.print(Text(text), soft_wrap=True)

    def ended(self, turn: Turn, report: Report | SearchFailed) -> None:
        """Take the report of a share.

        Reports are added in the order in which shares were handed out, whichever comes first, so
        that a search has the same result in any number of processes.
        """
        self._waiting[turn.place] = (turn.share, report)
        while self._added in self._waiting:
            self._add(*self._waiting.pop(self._added))
            self._added += 1

    def _add(self, share: Share, report: Report | SearchFailed) -> None:
        """Add a share's report; a cause that is new is named at once."""
        if isinstance(report, SearchFailed):
            self.faults.append(f"{share}: {report}")
            self.print(f"not compared: {share}: {report}", "magenta")
            return
        self.drawn += report.programs
        self.seconds[share.theme] = self.seconds.get(share.theme, 0.0) + report.seconds
        self.outcomes.update(report.outcomes)
        self.lacking.update(report.lacking)
        for statements, lines in report.reached:
            if not self.lines.issuperset(lines):
                self.lines.update(lines)
                self.reached.append((statements, lines))
        for statements, reason in report.lost:
            self.lost.append((share, statements, reason))
        # All are kept before one is named: an interruption may come with the first line printed.
        new = [found.cause for found in report.found if self._enter(share, found)]
        for cause in new:
            self.print(f"new: {cause}")
        self._progress()

    def add(self, found: Finding, cause: object) -> None:
        """Print a finding, unless there is one of its cause.

        One that shows in no fresh process is only mentioned.
        """
        if any(found.line["sentence"] == other.line["sentence"] for other in self.findings):
            return
        if found.line["outcome"] == "conforms":
            self.outcomes["unsteady"] += 1
            self.print(f"only after other programs: {cause}: {found.line['id']}")
            return
        self.findings.append(found)
        line, text = found.line, found.message.encode("utf-8", "backslashreplace").decode()
        if is_known(line):
            text = f"{line['id']}: a known divergence ({line['known']['reason']})"
        self.console.print(Text(f"\n{text}\n"), soft_wrap=True)

    def stop(self) -> None:
        """Remove the bar; safe to call twice."""
        self._bar.stop()

    @property
    def exit(self) -> int:
        """The exit code, as that of a run: 1 for a divergence, 3 if programs were not compared."""
        if not self.complete:
            return 3
        if any(f.line["outcome"] == "diverges" and not is_known(f.line) for f in self.findings):
            return 1
        lost = self.faults or self.lost or any(f.line["outcome"] == "error" for f in self.findings)
        return 3 if lost or set(self.outcomes) - {*SETTLED, "unsteady"} else 0

    def summarise(self, lines: int) -> None:
        """Print how many programs had which outcome, the rate, the coverage, and the exit code."""
        text = f"{self.drawn} programs: {self._counts()}"
        if self._drawing:
            text += f"; {self.drawn / self._drawing:.0f} programs a second"
        self.print(text if self.drawn else "no program was compared")
        if lines:
            share = len(self.lines) / lines
            self.print(f"coverage: {len(self.lines)} of {lines} lines in functions ({share:.0%})")
        if self.seconds:
            most = sorted(self.seconds.items(), key=lambda one: -one[1])
            times = ", ".join(f"{theme} {took:.1f}" for theme, took in most)
            self.print(f"seconds of work: {sum(self.seconds.values()):.1f} ({times})")
        if self.lacking:
            names = ", ".join(f"{name} ({n})" for name, n in self.lacking.most_common(8))
            self.print(f"lacking: {names}")
        style = "red" if self.exit else "green"
        self.print(f"exit code {self.exit}: {self._meaning()}", style)

    def drawing_ends(self) -> None:
        """Note the time: shrinking does not count for the rate. Add reports that are waiting."""
        for place in sorted(self._waiting):
            self._add(*self._waiting.pop(place))
        self._drawing = time.monotonic() - self._begun

    _drawing = 0.0

    def _enter(self, share: Share, found: Found) -> bool:
        """Keep the cause, with the program of the share that comes first; whether it is new."""
        _, there = self.causes.setdefault(found.cause, (share, found))
        if there is found:
            return True
        there.count += found.count
        return False

    def _progress(self) -> None:
        seconds = max(time.monotonic() - self._begun, 1e-6)
        status = f"{self._counts()}; {self.drawn / seconds:.0f}/s, {len(self.causes)} causes"
        self._bar.show(self.drawn, status)
        if not self._bar.drawn and time.monotonic() - self._shown >= PERIOD:
            self._shown = time.monotonic()
            of = "" if self.total is None else f" of {self.total}"
            self.print(f"{self.drawn}{of}: {status}")

    def print(self, text: str, style: str = "") -> None:
        """Print a line of text, which may be a backend's."""
        self.console.print(Text(text, style=style), soft_wrap=True)

    def _counts(self) -> str:
        return ", ".join(f"{n} {name.replace('_', ' ')}" for name, n in self.outcomes.items())

    def _meaning(self) -> str:
        new = [f for f in self.findings if not is_known(f.line)]
        if not self.complete:
            return "interrupted before every search ended"
        if self.exit == 1:
            return f"something diverges ({len(new)} found)"
        if any(f.line["outcome"] == "error" for f in new) or self.lost:
            return f"the backend broke down ({len(self.lost)} found)"
        if self.exit == 3:
            return "nothing diverges, but something was not compared"
        return "nothing was found" + (", but for known divergences" if self.findings else "")


def lost_finding(reason: str) -> bool:
    """Whether it was the backend on which a program ended its process."""
    return reason.startswith("backend")
