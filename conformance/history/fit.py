"""The version of torch that a backend follows, on the programs on which versions differ."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field

from conformance.base.torch_versions import newest_first
from conformance.execution.history import Entry, History, Shown
from conformance.history.changes import is_there
from conformance.history.following import agrees
from conformance.isolation.child import Unsupported
from conformance.isolation.process import IsolationError
from conformance.observe.trace import Trace
from conformance.program.program import Program


@dataclass(frozen=True)
class Question:
    """A program on which versions differ at the levels asked for: its distinct answers.

    Each answer is a trace and the versions that show it, the newest first.
    """

    program: Program
    answers: tuple[tuple[tuple[str, ...], Trace], ...]

    @property
    def versions(self) -> tuple[str, ...]:
        """The versions that have the program's names, newest first."""
        return newest_first(version for versions, _ in self.answers for version in versions)


@dataclass
class Fit:
    """The versions that a backend follows, program by program.

    `followed` are the versions with which it agrees, of the programs that it could run: none, if
    it agrees with none. The others are counted by the reason.
    """

    followed: dict[str, tuple[str, ...]] = field(default_factory=dict)
    not_compared: Counter[str] = field(default_factory=Counter)

    def counts(self, questions: Iterable[Question]) -> dict[str, tuple[int, int]]:
        """By version: on how many programs the backend agrees, of how many that version has."""
        agreeing: Counter[str] = Counter()
        asked: Counter[str] = Counter()
        for question in questions:
            if (followed := self.followed.get(question.program.id)) is not None:
                agreeing.update(followed)
                asked.update(question.versions)
        return {version: (agreeing[version], asked[version]) for version in newest_first(asked)}

    def best(self, questions: Sequence[Question]) -> tuple[str, ...]:
        """The versions with the largest share of agreement, newest first; none without any."""
        counts = self.counts(questions)
        shares = {v: right / asked for v, (right, asked) in counts.items() if asked}
        most = max(shares.values(), default=0)
        return tuple(version for version, share in shares.items() if share == most and most > 0)


def questions(
    programs: Iterable[Program],
    history: History,
    levels: Collection[str],
    newer: tuple[str, Callable[[Program], Trace]] | None = None,
) -> list[Question]:
    """The programs on which versions differ at these levels; raises RecordingError.

    A version of torch that is `newer` than the history is asked as well.
    """
    found = []
    for program in programs:
        entry = history.entry(program)
        if entry is None:
            continue
        if newer is not None:
            with suppress(IsolationError):
                entry.shown.insert(0, Shown((newer[0],), newer[1](program)))
        if len(answers := _answers(program, entry, levels)) > 1:
            found.append(Question(program, answers))
    return found


def _answers(
    program: Program, entry: Entry, levels: Collection[str]
) -> tuple[tuple[tuple[str, ...], Trace], ...]:
    """The traces that differ at these levels, those that agree at them put together."""
    found: list[tuple[tuple[str, ...], Trace]] = []
    for shown in entry.shown:
        if shown.trace is None or not is_there(shown):
            continue
        for place, (versions, trace) in enumerate(found):
            if agrees(trace, shown.trace, program, levels):
                found[place] = newest_first((*versions, *shown.versions)), trace
                break
        else:
            found.append((shown.versions, shown.trace))
    return tuple(found)


def fit(
    asked: Iterable[Question],
    trace: Callable[[Program], Trace],
    levels: Collection[str],
    progress: Callable[[int], None] = lambda done: None,
) -> Fit:
    """Run the programs on a backend and compare its traces with those of every version."""
    result = Fit()
    for done, question in enumerate(asked):
        progress(done)
        program = question.program
        try:
            got = trace(program)
        except Unsupported:
            result.not_compared["unsupported"] += 1
            continue
        except IsolationError:
            result.not_compared["error"] += 1
            continue
        followed = newest_first(
            version
            for versions, expected in question.answers
            if agrees(expected, got, program, levels)
            for version in versions
        )
        if not followed and any(step.error and "lacks" in step.error for step in got.steps):
            result.not_compared["unsupported"] += 1
            continue
        result.followed[program.id] = followed
    return result
