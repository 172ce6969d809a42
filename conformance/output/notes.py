"""Differences between two recordings or two runs, in words that a release note could use.

Between recordings each difference is described once: first operations that one side lacks, then
differences that many programs show alike, then the rest, rule by rule and operator by operator.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from conformance.base.escapes import printable
from conformance.base.levels import LEVELS
from conformance.compare.verdict import Divergence, Verdict
from conformance.execution.recorded import Recorded
from conformance.output.display import cut, field_value, pair, where
from conformance.program.program import Program
from conformance.run_files.categories import topic
from conformance.run_files.causes import causes
from conformance.run_files.changes import Change, Changes
from conformance.run_files.differences import Differences
from conformance.run_files.identity import named
from conformance.run_files.run import Run
from conformance.suite.suite import Suite

# Programs of one rule or operator that are described one by one.
TOLD = 3
# A difference that at least this many programs share is described once for all of them.
ALIKE = 8
WIDTH = 120

# Error texts that say that this version of the library lacks an operation.
_LACKS = re.compile(
    r"AttributeError: .* has no attribute '\w+'"
    r"|(Type|Attribute)Error: .*(unexpected keyword argument|invalid keyword)"
    r"|ImportError: cannot import name"
    r"|NotImplementedError: |RuntimeError: .* (is|are) (not|currently not) (implemented|supported)"
)


class Difference(NamedTuple):
    """Where a program's two traces first differ at a level, the values as texts."""

    program: Program
    level: str
    divergence: Divergence
    before: str
    after: str

    @property
    def attribute(self) -> str:
        """The field that differs, without the path to it: `version`, `grad_fn`, `error`."""
        return self.divergence.field.rpartition(".")[2]

    @property
    def kind(self) -> tuple[str, ...]:
        """A key that is equal for differences that presumably have the same cause."""
        if self.level == "values" and not self.attribute.startswith("error"):
            return (self.program.id,)  # equal numbers do not imply a common cause
        return self.level, self.attribute, self.before, self.after


def notes(found: Differences, before: Recorded, after: Recorded, suite: Suite) -> Iterator[str]:
    """The differences between two recordings, as Markdown."""
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
    every = [d for name, verdict in found.changed.items() for d in _causes(suite[name], verdict)]
    for side, name in zip(("before", "after"), names, strict=True):
        every, lacking = _lacking(every, side)
        yield from _group(f"Not there with {name}", lacking.items())
    alike = _by(every, lambda difference: difference.kind)
    common = {kind: group for kind, group in alike.items() if len(group) >= ALIKE}
    rest = [difference for difference in every if difference.kind not in common]
    told = [(_common(group[0]), group) for group in common.values()]
    yield from _group("In many programs alike", told)
    yield from _by_subject(rest)


def _causes(program: Program, verdict: Verdict) -> Iterator[Difference]:
    """The differences at each level, less those that follow from an error on one side."""
    raised = verdict.divergences.get("values")
    kinds = set()  # a difference in kind counts at every level, and is described once
    for level, divergence in verdict.divergences.items():
        place = divergence.step, divergence.name, divergence.field
        if place in kinds:
            continue
        if divergence.field.rpartition(".")[2] == "kind":
            kinds.add(place)
        after_error = raised and raised.field == "error" and divergence.step >= raised.step
        if after_error and level != "values":
            continue
        texts = (printable(field_value(v)) for v in (divergence.expected, divergence.got))
        yield Difference(program, level, divergence, *texts)


def _lacking(
    every: list[Difference], side: str
) -> tuple[list[Difference], dict[str, list[Difference]]]:
    """Separate the differences where one side lacks the operation, by its error message."""
    rest: list[Difference] = []
    lacking: dict[str, list[Difference]] = {}
    for difference in every:
        says = getattr(difference, side)
        if difference.attribute == "error" and _LACKS.match(says):
            lacking.setdefault(_code(cut(says, WIDTH)), []).append(difference)
        else:
            rest.append(difference)
    return rest, lacking


def _group(title: str, told: Collection[tuple[str, list[Difference]]]) -> Iterator[str]:
    if told:
        yield f"\n## {title}\n"
    for words, group in sorted(told, key=lambda item: -len(item[1])):
        ids = [difference.program.id for difference in group]
        yield f"- {words} ({_count(len(ids), 'program')}: {_listed(ids, 4)})"


def _common(difference: Difference) -> str:
    old, new = pair(difference.divergence.expected, difference.divergence.got, WIDTH)
    return f"{difference.level}, `{difference.attribute}`: {_code(old)} before, {_code(new)} now"


def _by_subject(rest: list[Difference]) -> Iterator[str]:
    subjects = _by(rest, lambda difference: _subject(difference.program))
    for (subject, sentence), group in sorted(
        subjects.items(), key=lambda item: item[1][0].program.rule is None
    ):
        yield f"\n## {subject}{': ' + sentence if sentence else ''}\n"
        programs = list(dict.fromkeys(difference.program.id for difference in group))
        yield from (_told(d) for d in group if d.program.id in programs[:TOLD])
        if more := programs[TOLD:]:
            yield f"- and {_count(len(more), 'more program')}: {_listed(more)}"


def _by(every: Iterable[Difference], key: Any) -> dict[Any, list[Difference]]:
    groups: dict[Any, list[Difference]] = {}
    for difference in every:
        groups.setdefault(key(difference), []).append(difference)
    return groups


def _subject(program: Program) -> tuple[str, str]:
    if program.rule is not None:
        return program.rule, program.sentence
    return f"`{program.operator or program.id}`", ""


def _told(difference: Difference) -> str:
    program, level, divergence, *_ = difference
    lines = program.paste().splitlines()
    statement = lines[divergence.line - 1].strip() if divergence.line <= len(lines) else ""
    old, new = pair(divergence.expected, divergence.got, WIDTH)
    place = where(divergence.to_json())
    return (
        f"- {program.id}, {level}: after {_code(cut(statement, 100))}, {place} was {_code(old)} "
        f"and is {_code(new)}."
    )


def _code(text: str) -> str:
    """Return the text as a code span that its own backticks cannot end."""
    fence = "`" * (1 + max(map(len, re.findall("`+", text)), default=0))
    inner = f" {text} " if text.startswith("`") or text.endswith("`") else text
    return f"{fence}{inner}{fence}"


_KINDS = {
    "diverges": "diverge now",
    "lost": "are not compared any more",
    "other_version": "show another version of torch now",
    "conforms": "conform now",
    "otherwise": "stand otherwise",
}


def notes_of_runs(found: Changes, before: Run, after: Run) -> Iterator[str]:
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
            if kind in ("diverges", "conforms"):
                yield from _by_cause(group, after if kind == "diverges" else before)
            for change in group:
                yield f"- {change.id}: {_standing(change)}. {sentences[change.id]}".rstrip()


def _by_cause(group: Sequence[Change], run: Run) -> Iterator[str]:
    """The causes of the programs that diverge in one of two runs only."""
    changed = {change.id for change in group}
    for cause in causes(run.programs, run.levels):
        if number := sum(line["id"] in changed for line in cause.lines):
            line = cause.shown
            yield (
                f"**{number:,} of {_count(len(cause.lines), 'divergence')}**: "
                f"{cause.difference.level}: {printable(cause.words)} "
                f"({topic(line)}, such as {line['id']})\n"
            )


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


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def _listed(ids: Iterable[str], most: int = 6) -> str:
    every = list(ids)
    rest = f" and {len(every) - most:,} more" if len(every) > most else ""
    return ", ".join(every[:most]) + rest
