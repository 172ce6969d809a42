"""Changes between versions of torch, program by program, as the history shows them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import pairwise

from conformance.base.levels import LEVELS
from conformance.base.torch_versions import order
from conformance.compare.compare import compare
from conformance.compare.verdict import Divergence, Verdict
from conformance.execution.history import Entry, Shown
from conformance.observe.trace import Trace
from conformance.program.program import Program
from conformance.suite.chapters import Rule

NOTED = ("values", "graph", "memory")
"""The levels at which a change is stated in the rule; texts change with nearly every version."""

NEW, CHANGED, REMOVED = "new", "changed", "removed"

_OF_NAMES = ("AttributeError", "ImportError", "ModuleNotFoundError")
"""The errors by which a version lacks a name; NotImplementedError is an answer of torch."""


@dataclass(frozen=True)
class Change:
    """One program that does something else since `version` than in `before`, the version before.

    `kind` is new (the version before lacks a name of the program), removed, or changed; the
    divergences, by level, have the older value as expected and the newer one as got.
    """

    program: Program
    version: str
    before: str
    kind: str
    divergences: dict[str, Divergence]

    @property
    def levels(self) -> tuple[str, ...]:
        """The levels at which a changed program differs, in their order."""
        return tuple(level for level in LEVELS if level in self.divergences)

    @property
    def is_noted(self) -> bool:
        """Whether the rule has to state it."""
        return self.kind != CHANGED or any(level in NOTED for level in self.levels)


def changes(program: Program, entry: Entry) -> Iterator[Change]:
    """The program's changes from each recorded version to the next, oldest first."""
    by_version = {version: shown for shown in entry.shown for version in shown.versions}
    for before, after in pairwise(sorted(by_version, key=order)):
        one, other = by_version[before], by_version[after]
        if one is other:
            continue
        there = is_there(one), is_there(other)
        if there == (True, True):
            verdict = difference(program, one, other)
            if verdict.divergences:
                yield Change(program, after, before, CHANGED, verdict.divergences)
        elif there != (False, False):
            yield Change(program, after, before, NEW if there[1] else REMOVED, {})


def is_there(shown: Shown) -> bool:
    """Whether a version has everything that the program uses."""
    return shown.trace is None or lacks(shown.trace) is None


def lacks(trace: Trace) -> str | None:
    """The first name that a trace's version of torch lacks."""
    errors = (step.error for step in trace.steps if step.error)
    return next((str(e["lacks"]) for e in errors if "lacks" in e and e["type"] in _OF_NAMES), None)


def changes_of_rule(rule: Rule, entries: Mapping[str, Entry]) -> list[Change]:
    """The changes of all programs of a rule, oldest first; `entries` are those of its programs."""
    found = [
        change
        for program in rule.programs
        if program.id in entries
        for change in changes(program, entries[program.id])
    ]
    return sorted(found, key=lambda change: order(change.version))


def by_version(found: Iterable[Change]) -> dict[str, list[Change]]:
    """The changes grouped by the version that made them, oldest first."""
    grouped: dict[str, list[Change]] = {}
    for change in found:
        grouped.setdefault(change.version, []).append(change)
    return {version: grouped[version] for version in sorted(grouped, key=order)}


def difference(program: Program, one: Shown, other: Shown) -> Verdict:
    """The verdict on one version's answer (`other`), with another's (`one`) as the expectation.

    Both have to have every name that the program uses.
    """
    if one.trace is not None and other.trace is not None:
        return compare(
            one.trace, with_plain_errors(other.trace), program, stated=False, permitting=False
        )
    older, newer = (shown.died or "the process goes on" for shown in (one, other))
    if older == newer:
        return Verdict("conforms")
    last = program.statements[-1]
    divergence = Divergence(last.index, last.line, None, "error", older, newer)
    return Verdict("diverges", divergences={"values": divergence})


def with_plain_errors(trace: Trace) -> Trace:
    """The trace with errors that count as torch's answers, not as names that it lacks."""
    steps = [
        replace(step, error={k: v for k, v in step.error.items() if k != "lacks"})
        if step.error
        else step
        for step in trace.steps
    ]
    return Trace(steps)
