"""A made history of one program in three versions of torch; the second changed it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from conformance.backends import find
from conformance.execution.execute import trace
from conformance.history.recording import record_version
from conformance.observe.trace import Trace
from conformance.program.program import Program

IMPL = find("impl")
CHANGED = {"2.13": "3.0", "2.14": "2.0", "2.15": "2.0"}
"""The number in the place of X in the program, by version."""


def program(value: str = "2.0", comment: str = "") -> Program:
    source = f"x = torch.tensor({value}){comment}\nx.sum()\n"
    return Program("MADE-01.1", "made", source, "A number is a number", rule="MADE-01")


def of_version(version: str) -> Callable[[Program], Trace]:
    """A torch of this version: it runs programs with the version's number."""

    def run(asked: Program) -> Trace:
        source = asked.source.replace("X", CHANGED[version])
        return trace(Program(asked.id, asked.area, source, "", rule=asked.rule), IMPL)

    return run


def record(folder: Path) -> None:
    """Write the history."""
    for version in ("2.15", "2.14", "2.13"):
        record_version(folder, version, f"{version}.0", [program("X")], of_version(version))
