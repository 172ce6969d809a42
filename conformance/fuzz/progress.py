"""Progress of random programs while they are drawn, findings as they come in, and a summary."""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Sequence
from typing import Any

import pytest
from rich.console import Console
from rich.text import Text

from conformance.fuzz.search import Share
from conformance.run.collector import PLAN
from conformance.run.plan import Plan
from conformance.run.progress import PERIOD, Bar, named
from conformance.run_files.totals import is_known


class FuzzWatcher:
    """The pytest plugin that `conform fuzz` watches its searches with.

    A finding is printed once, as soon as a search reports it.
    """

    def __init__(self, made: Plan, shares: Sequence[Share], console: Console) -> None:
        self.plan = made
        self.console = console
        self.outcomes: Counter[str] = Counter()
        self.findings: dict[str, dict[str, Any]] = {}
        self.faults: list[str] = []
        self._shares = {str(share): share for share in shares}
        self._ended: set[str] = set()
        self._total = sum(share.examples for share in shares)
        self._begun = self._shown = time.monotonic()
        self._bar = Bar(console, self._total)

    @pytest.hookimpl(trylast=True)
    def pytest_configure(self, config: pytest.Config) -> None:
        config.stash[PLAN] = self.plan
        config.pluginmanager.unregister(name="terminalreporter")

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        if report.failed:
            self.console.print(Text(report.longreprtext))

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        share = report.nodeid.rpartition("[")[2].removesuffix("]")
        if share not in self._shares:
            return
        if (text := getattr(report, "conform_search", None)) is not None:
            self._record(json.loads(text))
        elif report.failed:
            lost = report.longreprtext or "the process that drew them died"
            self._fault(f"{share}: {lost}")
        else:
            return
        self._ended.add(share)
        self._progress()

    def stop(self) -> None:
        """Remove the bar; safe to call twice."""
        self._bar.stop()

    @property
    def complete(self) -> bool:
        """Whether every search has ended."""
        return self._ended == self._shares.keys()

    @property
    def exit(self) -> int:
        """The exit code, as that of a run: 1 for a divergence, 3 if programs were not compared."""
        if not self.complete:
            return 3
        unknown = [line for line in self.findings.values() if not is_known(line)]
        if any(line["outcome"] == "diverges" for line in unknown):
            return 1
        compared = {"conforms", "diverges"}
        return 3 if self.faults or set(self.outcomes) - compared else 0

    def announce(self) -> None:
        """Print the backend, the oracle, and how many programs are drawn."""
        settings = self.plan.settings
        themes = list(dict.fromkeys(share.theme for share in self._shares.values()))
        text = (
            f"{named(self.plan.backend)} against {named(self.plan.oracle)}: "
            f"{self._total} random programs ({', '.join(themes)}), seed {settings.seed}, "
            f"levels {', '.join(settings.selection.levels)}"
        )
        self.console.print(Text(text), soft_wrap=True)

    def summarise(self) -> None:
        """Print how many programs had which outcome, and the meaning of the exit code."""
        total = self.outcomes.total()
        counts = f"{total} programs, those tried while shrinking included: {self._counts()}"
        self.console.print(Text(counts if total else "no program was compared"), soft_wrap=True)
        style = "red" if self.exit else "green"
        self.console.print(Text(f"exit code {self.exit}: {self._meaning()}", style=style))

    def _record(self, found: dict[str, Any]) -> None:
        self.outcomes.update(found["outcomes"])
        if found["fault"]:
            self._fault(found["fault"])
        line = found["line"]
        if line is None or line["id"] in self.findings:
            return
        self.findings[line["id"]] = line
        text = found["message"].encode("utf-8", "backslashreplace").decode()
        if is_known(line):
            text = f"{line['id']}: a known divergence ({line['known']['reason']})"
        self.console.print(Text(f"\n{text}\n"), soft_wrap=True)

    def _fault(self, text: str) -> None:
        self.faults.append(text)
        self.console.print(Text(f"\nnot compared: {text}\n", style="magenta"), soft_wrap=True)

    def _progress(self) -> None:
        done = sum(self._shares[share].examples for share in self._ended)
        seconds = max(time.monotonic() - self._begun, 1e-6)
        left = (self._total - done) * seconds / max(done, 1)
        status = f"{self._counts()}; {done / seconds:.0f}/s, {left:.0f} s left"
        self._bar.show(done, status)
        if not self._bar.drawn and time.monotonic() - self._shown >= PERIOD:
            self._shown = time.monotonic()
            self.console.print(Text(f"{done} of {self._total}: {status}"))

    def _counts(self) -> str:
        return ", ".join(f"{n} {name.replace('_', ' ')}" for name, n in self.outcomes.items())

    def _meaning(self) -> str:
        if not self.complete:
            return f"interrupted, {len(self._ended)} of {len(self._shares)} searches ended"
        new = sum(1 for line in self.findings.values() if not is_known(line))
        if self.exit == 1:
            return f"something diverges ({new} found)"
        if new:
            return f"the backend broke down ({new} found)"
        if self.exit == 3:
            return "nothing diverges, but something was not compared"
        return "nothing was found" + (", but for known divergences" if self.findings else "")
