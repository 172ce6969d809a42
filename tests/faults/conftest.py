"""The table of faults: each test of this folder injects one, and it is held or lost.

`--faults-page FILE` writes the table as a page of Markdown (docs/faults.md). A test's mark
`fault(title, before)` has the fault in words, and the effect that it had in the review of 2026.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

HERE = Path(__file__).resolve().parent
_INTRODUCTION = """\
# Faults

Faults that are put into backends, oracles, ports, files and processes, and how the suite bears
them. *Before* is the effect that the review of November 2026 found; *held* are the faults of a
kind that cost no more than their own program, and *lost* those that cost more. `tox run -e faults`
tries all of them, prints this table and writes it here.

"""
_KEY = pytest.StashKey["Table"]()


class Table:
    """Faults tried, by test."""

    def __init__(self) -> None:
        self.about: dict[str, tuple[str, str]] = {}
        self.counts: dict[str, Counter[str]] = {}

    def add(self, item: pytest.Item) -> None:
        name = item.nodeid.partition("[")[0]
        mark = item.get_closest_marker("fault")
        title = name.partition("::test_")[2].replace("_", " ")
        before = "–"
        if mark is not None:
            title, before = mark.args
        self.about[name] = title, before
        self.counts.setdefault(name, Counter())

    def count(self, report: pytest.TestReport) -> None:
        name = report.nodeid.partition("[")[0]
        if name in self.counts and (report.when == "call" or report.outcome != "passed"):
            self.counts[name][report.outcome] += 1

    def rows(self) -> Iterator[tuple[str, ...]]:
        yield "fault", "before", "tried", "held", "lost"
        for name, (title, before) in self.about.items():
            found = self.counts[name]
            if tried := found["passed"] + found["failed"]:
                yield title, before, str(tried), str(found["passed"]), str(found["failed"])

    def page(self) -> str:
        """The table in Markdown."""
        head, *rows = self.rows()
        lines = [head, ("---", "---", "---:", "---:", "---:"), *rows]
        return _INTRODUCTION + "".join(f"| {' | '.join(line)} |\n" for line in lines)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--faults-page", metavar="FILE", help="write the table of faults here")


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "fault(title, before): the fault that a test injects")
    config.stash[_KEY] = Table()
    if config.getoption("--faults-page", None) and getattr(config.option, "tx", None):
        raise pytest.UsageError("--faults-page counts the tests of one process: leave out -n")


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    for item in items:
        if HERE in item.path.parents:
            config.stash[_KEY].add(item)


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    table = config.stash[_KEY]
    for outcome in ("passed", "failed"):
        for report in terminalreporter.getreports(outcome):
            table.count(report)
    rows = list(table.rows())
    if len(rows) == 1:
        return
    terminalreporter.section("faults")
    wide = [max(len(row[column]) for row in rows) for column in range(5)]
    for row in rows:
        cells = (cell.ljust(size) for cell, size in zip(row, wide, strict=True))
        terminalreporter.write_line("  ".join(cells).rstrip())
    if path := config.getoption("--faults-page", None):
        Path(path).write_text(table.page(), "utf-8")


@pytest.fixture(autouse=True)
def faulty_is_importable(monkeypatch: pytest.MonkeyPatch) -> None:
    """Child processes find the backend `faulty` in this folder."""
    if str(HERE) not in sys.path:
        monkeypatch.syspath_prepend(str(HERE))
