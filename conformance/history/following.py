"""The versions of torch whose traces a backend's agree with."""

from __future__ import annotations

from collections.abc import Collection

from conformance.base.levels import LEVELS
from conformance.base.torch_versions import newest_first
from conformance.compare.compare import compare
from conformance.execution.history import Entry, Shown
from conformance.history.changes import difference
from conformance.observe.trace import Trace
from conformance.program.program import Program


def versions_of(
    entry: Entry,
    program: Program,
    got: Trace,
    counted: Collection[str],
    claimed: Collection[str] = LEVELS,
) -> tuple[str, ...]:
    """The versions whose trace a backend's agrees with at the levels that count, newest first.

    Only levels that the backend claims are compared. A trace of which nothing could be compared
    agrees with none.
    """
    levels = [level for level in counted if level in claimed]
    return newest_first(
        version
        for shown in entry.shown
        if shown.trace is not None and agrees(shown.trace, got, program, levels)
        for version in shown.versions
    )


def agrees(expected: Trace, got: Trace, program: Program, levels: Collection[str]) -> bool:
    """Whether two traces agree at these levels, and have something at one of them."""
    verdict = compare(expected, got, program, stated=False, levels=levels)
    return verdict.outcome == "conforms" and "conforms" in verdict.levels.values()


def changed_levels(shown: Shown, now: Trace, program: Program) -> list[str]:
    """The levels at which a trace differs from that of a recorded version."""
    if shown.trace is None:
        return []
    return list(difference(program, shown, Shown((), now)).divergences)
