"""What changed between two recordings, or between two run files: what a release note would say."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from conformance.changes import Change, Changes, changes, standings
from conformance.compare import compare
from conformance.display import cut, pair, where
from conformance.program import Program
from conformance.recordings import Recording, fingerprint
from conformance.runs import LEVELS, Run
from conformance.suite import Suite
from conformance.verdict import Divergence, Verdict

# So many programs of one rule or operator are told one by one.
TOLD = 3


@dataclass
class Differences:
    """Two recordings side by side, each program by its ID.

    `rewritten` are programs of which the recordings have different texts, or the suite another
    one: nothing can be said about torch there. `changed` has the verdict on the second trace.
    """

    added: list[str] = field(default_factory=list)
    removed: list[str] = field(default_factory=list)
    rewritten: list[str] = field(default_factory=list)
    unchanged: int = 0
    changed: dict[str, Verdict] = field(default_factory=dict)


def differences(before: Recording, after: Recording, suite: Suite) -> Differences:
    """Compare two recordings of the suite's programs; raises RecordingError."""
    programs = {program.id: program for program in suite.programs}
    found = Differences()
    ids = set(before.ids())
    found.removed = [name for name in before.ids() if name not in set(after.ids())]
    for identifier in after.ids():
        if identifier not in ids:
            found.added.append(identifier)
            continue
        old, new = before.entry(identifier), after.entry(identifier)
        program = programs.get(identifier)
        if program is None or {old[0], new[0]} != {fingerprint(program)}:
            found.rewritten.append(identifier)
            continue
        verdict = compare(old[1], new[1], program, stated=False)
        if verdict.divergences:
            found.changed[identifier] = verdict
        else:
            found.unchanged += 1
    return found


def told(found: Differences, before: Recording, after: Recording, suite: Suite) -> Iterator[str]:
    """The differences in prose, as Markdown: first the rules, then the operators."""
    names = [named(recording.oracle) for recording in (before, after)]
    both = found.unchanged + len(found.changed)
    yield f"# From {names[0]} to {names[1]}\n"
    yield f"Of {_count(both, 'program')} in both, {found.unchanged:,} do the same."
    for level in LEVELS:
        if number := sum(level in verdict.divergences for verdict in found.changed.values()):
            yield f"At the level of {level}, {number:,} differ."
    for what, ids in (
        (f"recorded only with {names[0]}", found.removed),
        (f"recorded only with {names[1]}", found.added),
        ("not comparable, because their text has changed", found.rewritten),
    ):
        if ids:
            yield f"{_count(len(ids), 'program')} {what}: {_listed(ids)}."
    by_subject: dict[tuple[str, str], list[Program]] = {}
    for identifier in found.changed:
        program = suite[identifier]
        by_subject.setdefault(_subject(program), []).append(program)
    for (subject, sentence), programs in sorted(
        by_subject.items(), key=lambda item: item[1][0].rule is None
    ):
        yield f"\n## {subject}{': ' + sentence if sentence else ''}\n"
        for program in programs[:TOLD]:
            yield from _change(program, found.changed[program.id], names)
        if rest := programs[TOLD:]:
            yield f"- and {_count(len(rest), 'more program')}: {_listed(p.id for p in rest)}"


def _subject(program: Program) -> tuple[str, str]:
    if program.rule is not None:
        return program.rule, program.sentence
    return f"`{program.operator or program.id}`", ""


def _change(program: Program, verdict: Verdict, names: list[str]) -> Iterator[str]:
    for level, divergence in verdict.divergences.items():
        lines = program.paste().splitlines()
        statement = lines[divergence.line - 1].strip() if divergence.line <= len(lines) else ""
        old, new = pair(divergence.expected, divergence.got, 120)
        yield (
            f"- {program.id}, {level}: after `{cut(statement, 100)}`, {_place(divergence)} was "
            f"{old} with {names[0]} and is {new} with {names[1]}."
        )


def _place(divergence: Divergence) -> str:
    return where(divergence.to_json())


def between_runs(before: Run, after: Run) -> Changes:
    """What changed from one run to the other."""
    return changes(standings(before.programs), standings(after.programs))


_KINDS = {
    "diverges": "diverge now",
    "lost": "are not compared any more",
    "conforms": "conform now",
    "otherwise": "stand otherwise",
}


def told_of_runs(found: Changes, before: Run, after: Run) -> Iterator[str]:
    """The changes in prose, as Markdown, the worst first."""
    names = [named(run.header["backend"]) for run in (before, after)]
    both = len(found.changed) + len(found.unchanged)
    yield f"# From {names[0]} to {names[1]}\n"
    yield f"Of {_count(both, 'program')} in both, {len(found.unchanged):,} stand as they did."
    for what, ids in (
        ("only in the first run", found.removed),
        ("only in the second", found.added),
    ):
        if ids:
            yield f"{_count(len(ids), 'program')} {what}: {_listed(ids)}."
    sentences = {line["id"]: line["sentence"] or "" for line in after.programs}
    for kind, words in _KINDS.items():
        if group := found.of_kind(kind):
            yield f"\n## {_count(len(group), 'program')} {words}\n"
            for change in group:
                yield f"- {change.id}: {_standing(change)}. {sentences[change.id]}".rstrip()


def _standing(change: Change) -> str:
    levels = [
        f"{level} {was or 'not compared'} before, {now or 'not compared'} now"
        for level, was, now in zip(LEVELS, change.before.levels, change.after.levels, strict=True)
        if was != now
    ]
    ended = f"{change.before.category} before, {change.after.category} now"
    return "; ".join(levels) or (
        ended
        if change.before.category != change.after.category
        else "another first divergence or reason"
    )


def named(identity: Mapping[str, Any]) -> str:
    """A backend in words: name, version and device."""
    device = f" ({identity['device']})" if identity.get("device") else ""
    return f"{identity['name']} {identity['version'] or ''}".strip() + device


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def _listed(ids: Iterable[str], most: int = 6) -> str:
    every = list(ids)
    rest = f" and {len(every) - most:,} more" if len(every) > most else ""
    return ", ".join(every[:most]) + rest
