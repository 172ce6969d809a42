"""The collector of a run's lines in the controlling process; it also writes the run's files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from conformance.base.escapes import harmless
from conformance.base.outputs import reason
from conformance.base.release import versions
from conformance.run.ending import Result, ended, summary_lines, written
from conformance.run.judge import lost_line
from conformance.run.plan import Plan
from conformance.run_files.writing import RunWriter

PLAN = pytest.StashKey[Plan]()
"""The key of a plan that was made before pytest was started."""

TEST = "test_program"
"""The name of every test; a program's ID follows in brackets."""


class Collector:
    """Collects the lines in the process that controls the session, and writes the run's files."""

    def __init__(self, made: Plan, config: pytest.Config) -> None:
        self.plan = made
        self.config = config
        self.result: Result | None = None
        self.header: dict[str, Any] | None = None
        self.lines = dict(made.taken)
        self._programs = {program.id: program for program in made.programs}
        self._writer: RunWriter | None = None
        self._others_failed = False

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        self._begin(item.nodeid for item in session.items)

    @pytest.hookimpl(optionalhook=True)
    def pytest_xdist_node_collection_finished(self, node: Any, ids: list[str]) -> None:
        self._begin(ids)

    @pytest.hookimpl(optionalhook=True)
    def pytest_configure_node(self, node: Any) -> None:
        node.workerinput["conform_unavailable"] = self.plan.unavailable
        node.workerinput["conform_backend"] = self.plan.backend["version"]
        node.workerinput["conform_versions"] = versions()
        node.workerinput["conform_programs"] = list(self._programs)

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any, error: object | None) -> None:
        # Otherwise xdist would start replacements for ever.
        if error and self.header is None:
            said = str(error).strip().splitlines() or [""]
            where, _, _ = str(node.gateway.spec).partition("//env:")
            where = where.removeprefix("execmodel=main_thread_only//")
            raise pytest.UsageError(harmless(f"the worker {where} did not start: {said[-1]}"))

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        identifier = _program_id(report.nodeid)
        if identifier not in self._programs:
            self._others_failed = self._others_failed or report.failed
            return
        if (text := getattr(report, "conform_line", None)) is not None:
            self._record(json.loads(text))
        elif report.failed:
            said = f"the harness failed: {report.longreprtext}"
            if report.when not in ("setup", "call", "teardown"):
                said = "the process that ran it died (a worker of pytest-xdist)"
            self._record(lost_line(self._programs[identifier], said))

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
            terminalreporter.write_line(harmless(text))

    def _begin(self, nodeids: Any) -> None:
        collected = {_program_id(nodeid) for nodeid in nodeids} & self._programs.keys()
        if self.header is not None or not collected:
            return
        self.header = self.plan.header(len(collected) + len(self.lines))
        if self.plan.settings.run_file:
            self._writer = self._begun(self.header, self.plan.settings.run_file)
        self.config.hook.pytest_conform_started(header=self.header)

    def _begun(self, header: dict[str, Any], path: Path) -> RunWriter:
        try:
            return RunWriter(path, header, self.plan.suite.ids(), self.lines.values())
        except OSError as error:
            raise pytest.UsageError(f"{path}: cannot be written: {reason(error)}.") from None

    def _record(self, line: dict[str, Any]) -> None:
        if line["id"] in self.lines:
            return
        self.lines[line["id"]] = line
        if self._writer is not None:
            self._writer.write(line)
        self.config.hook.pytest_conform_judged(line=line)

    def _finish(self, complete: bool) -> Result:
        assert self.header is not None
        made, settings = self.plan, self.plan.settings
        lines = [self.lines[name] for name in made.suite.ids() if name in self.lines]
        forgiven = made.unavailable is not None and settings.if_available
        result = ended(self.header, lines, settings, made.suite, made.known, complete, forgiven)
        return written(result, settings, self._writer)


def _program_id(nodeid: str) -> str | None:
    _, found, rest = nodeid.partition(f"::{TEST}[")
    return rest.rpartition("]")[0] if found else None
