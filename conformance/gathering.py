"""Gathers a run's lines as they come in, in the process that controls it, and writes its files."""

from __future__ import annotations

import importlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from conformance import runs
from conformance.failure import headline
from conformance.judge import lost_line
from conformance.plan import Plan, now

TEST = "test_program"
"""The test function whose parameter is a program's ID."""


@dataclass(frozen=True)
class Result:
    """How a run ended; ``exit`` is its exit code."""

    header: Mapping[str, Any]
    lines: list[dict[str, Any]]
    stale: list[str]
    complete: bool
    exit: int
    run_file: Path | None
    report: Path | None
    report_fault: str | None = None


class Gathering:
    """Collects the lines in the process that controls the session, and writes the run's files."""

    def __init__(self, made: Plan, config: pytest.Config) -> None:
        self.plan = made
        self.config = config
        self.result: Result | None = None
        self.header: dict[str, Any] | None = None
        self.lines: dict[str, dict[str, Any]] = {}
        self._programs = {program.id: program for program in made.programs}
        self._writer: runs.RunWriter | None = None
        self._others_failed = False

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        self._begin(item.nodeid for item in session.items)

    @pytest.hookimpl(optionalhook=True)
    def pytest_xdist_node_collection_finished(self, node: Any, ids: list[str]) -> None:
        self._begin(ids)

    @pytest.hookimpl(optionalhook=True)
    def pytest_configure_node(self, node: Any) -> None:
        node.workerinput["conform_unavailable"] = self.plan.unavailable

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        identifier = _program_id(report.nodeid)
        if identifier not in self._programs:
            self._others_failed = self._others_failed or report.failed
            return
        if (text := getattr(report, "conform_line", None)) is not None:
            self._record(json.loads(text))
        elif report.failed:
            reason = f"the harness failed: {report.longreprtext}"
            if report.when not in ("setup", "call", "teardown"):
                reason = "the process that ran it died (a worker of pytest-xdist)"
            self._record(lost_line(self._programs[identifier], reason))

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session, exitstatus: int) -> None:
        if self.header is None:
            return
        finished = exitstatus in (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED)
        complete = finished and len(self.lines) == self.header["programs"]
        self.result = self._finish(complete)
        if finished and not self._others_failed:
            session.exitstatus = self.result.exit
        self.config.hook.pytest_conform_finished(result=self.result)

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        if self.result is None:
            return
        terminalreporter.section("conformance")
        for text in summary_lines(self.result):
            terminalreporter.write_line(text)

    def _begin(self, nodeids: Any) -> None:
        collected = {_program_id(nodeid) for nodeid in nodeids} & self._programs.keys()
        if self.header is not None or not collected:
            return
        self.header = self.plan.header(len(collected))
        if self.plan.settings.run_file:
            self._writer = runs.RunWriter(
                self.plan.settings.run_file, self.header, self.plan.suite.ids()
            )
        self.config.hook.pytest_conform_started(header=self.header)

    def _record(self, line: dict[str, Any]) -> None:
        if line["id"] in self.lines:
            return
        self.lines[line["id"]] = line
        if self._writer is not None:
            self._writer.write(line)
        self.config.hook.pytest_conform_judged(line=line)

    def _finish(self, complete: bool) -> Result:
        lines = [self.lines[name] for name in self.plan.suite.ids() if name in self.lines]
        stale = self.plan.known.stale(
            lines, self.plan.settings.selection.levels, self.plan.suite.programs_of_rule()
        )
        code = runs.exit_code(lines, stale) if complete else 3
        if complete and self.plan.unavailable and self.plan.settings.if_available:
            code = 0
        footer = runs.footer(lines, now(), code, stale) if complete else None
        if self._writer is not None:
            if footer is None:
                self._writer.abandon()
            else:
                self._writer.close(footer)
        report, fault = self.plan.settings.report, None
        if report is not None:
            assert self.header is not None
            fault = write_report(runs.Run(self.header, lines, footer), report)
        return Result(
            header=self.header or {},
            lines=lines,
            stale=stale,
            complete=complete,
            exit=code,
            run_file=self.plan.settings.run_file,
            report=report if fault is None else None,
            report_fault=fault,
        )


def write_report(run: runs.Run, path: Path) -> str | None:
    """Write the HTML report of a run; returns what went wrong, None when nothing did."""
    try:
        importlib.import_module("reports.run").write(run, path)
    except Exception as error:
        return f"the report {path} was not written: {type(error).__name__}: {error}"
    return None


def summary_lines(result: Result) -> list[str]:
    """The result of a run as plain lines: outcomes, first divergences, files, exit code."""
    counted = {name: n for name, n in runs.totals(result.lines).items() if n}
    lines = [", ".join(f"{n} {name.replace('_', ' ')}" for name, n in counted.items())]
    levels = tuple(result.header["selection"]["levels"])
    failing = [line for line in result.lines if runs.is_failing(line)]
    lines += [headline(line, levels) for line in failing[:10]]
    if len(failing) > 10:
        lines.append(f"... and {len(failing) - 10} more that diverge")
    lines += result.stale
    if result.run_file:
        lines.append(f"run file: {result.run_file}")
    if result.report:
        lines.append(f"report: {result.report}")
    if result.report_fault:
        lines.append(result.report_fault)
    lines.append(f"exit code {result.exit}: {meaning(result)}")
    return lines


def meaning(result: Result) -> str:
    """What the exit code of a run says, in words."""
    if not result.complete:
        return f"interrupted, {len(result.lines)} of {result.header['programs']} programs judged"
    if result.exit == 1:
        diverges = any(runs.is_failing(line) for line in result.lines)
        return "something diverges" if diverges else "a known divergence is gone; remove its entry"
    if result.exit == 3:
        return "nothing diverges, but something was not compared"
    if any(line["outcome"] == "not_run" for line in result.lines):
        return "not run, and that was allowed (--if-available)"
    known = sum(1 for line in result.lines if runs.is_known(line))
    but = f", but for {known} known divergences" if known else ""
    return f"everything conforms{but}"


def _program_id(nodeid: str) -> str | None:
    _, found, rest = nodeid.partition(f"::{TEST}[")
    return rest.rpartition("]")[0] if found else None
