"""Differences between two recordings, or between two run files."""

from __future__ import annotations

from dataclasses import dataclass, field

from conformance.compare.compare import compare
from conformance.compare.verdict import Verdict
from conformance.execution.recorded import Recorded
from conformance.execution.recordings import fingerprint
from conformance.run_files.changes import Changes, changes, standings
from conformance.run_files.run import Run
from conformance.suite.suite import Suite


@dataclass
class Differences:
    """Two recordings side by side, each program by its ID.

    `rewritten` are programs of which the recordings have different texts, or the suite another
    one, so that their traces are not comparable. `changed` has the verdict on the second trace.
    """

    added: list[str] = field(default_factory=list)
    removed: list[str] = field(default_factory=list)
    rewritten: list[str] = field(default_factory=list)
    unchanged: int = 0
    changed: dict[str, Verdict] = field(default_factory=dict)


def differences(before: Recorded, after: Recorded, suite: Suite) -> Differences:
    """Compare two recordings of the suite's programs; raises RecordingError."""
    found = Differences()
    ids = set(before.ids())
    still = set(after.ids())
    found.removed = [name for name in before.ids() if name not in still]
    for identifier in after.ids():
        if identifier not in ids:
            found.added.append(identifier)
            continue
        old, new = before.entry(identifier), after.entry(identifier)
        program = suite.get(identifier)
        if program is None or {old[0], new[0]} != {fingerprint(program)}:
            found.rewritten.append(identifier)
            continue
        verdict = compare(old[1], new[1], program, stated=False, permitting=False)
        if verdict.divergences:
            found.changed[identifier] = verdict
        else:
            found.unchanged += 1
    return found


def between_runs(before: Run, after: Run) -> Changes:
    """The changes from one run to the other."""
    return changes(standings(before.programs), standings(after.programs))
