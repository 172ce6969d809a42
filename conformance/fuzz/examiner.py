"""The examiner: runs a random program on oracle and backend, and says how they differ."""

from __future__ import annotations

from collections.abc import Callable, Container, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace

from conformance.base.levels import LEVELS
from conformance.compare.compare import compare
from conformance.compare.verdict import Verdict
from conformance.fuzz.causes import Cause, cause_of
from conformance.fuzz.drawn import drawn
from conformance.fuzz.rounding import is_rounding
from conformance.observe.trace import Trace
from conformance.program.program import Program, ProgramError

Run = Callable[[Program], Trace]
EMPTY: Mapping[str, Sequence[str]] = {}

AT_END = "at the end"
"""The operator of a difference that shows only without observations after each statement."""


@dataclass(frozen=True)
class Examined:
    """The outcome of a program, and the cause where it diverges.

    Outcomes are those of a run, and three more: `rounding` where the oracle's own value is as
    uncertain as the difference, `unsteady` where a side differs from itself, and `known`.
    """

    outcome: str
    cause: Cause | None = None
    reason: str = ""


class Examiner:
    """Compares programs on two sides, each given as the function that traces a program."""

    def __init__(
        self,
        oracle: Run,
        backend: Run,
        levels: Sequence[str] = LEVELS,
        claimed: Sequence[str] = LEVELS,
        at_end: tuple[Run, Run] | None = None,
        known: Mapping[str, Sequence[str]] = EMPTY,
    ) -> None:
        """``levels`` count; ``claimed`` are those that the backend claims.

        ``at_end`` are functions that observe after the last statement only, where both sides can;
        ``known`` are levels at which programs may diverge that have a text in their source.
        """
        self.known = known
        self.oracle, self.backend, self.at_end = oracle, backend, at_end
        self.levels, self.claimed = tuple(levels), tuple(claimed)

    def examine_at_end(
        self,
        statements: Sequence[str],
        halfway: Callable[[], None] = lambda: None,
        known: Container[Cause] = (),
    ) -> Examined:
        """Compare the final state of a program; where it differs, compare statement by statement.

        A difference that shows only without observations in between has an operator of its own.
        """
        if self.at_end is None:
            return self.examine(statements, halfway=halfway, known=known)
        try:
            program = drawn(statements)
        except ProgramError as error:
            return Examined("malformed", reason=str(error))
        found = self._examined(program, *self.at_end, nullcontext, halfway, known)
        if found.cause is None:
            return found
        detailed = self.examine(statements, known=known)
        if detailed.outcome != "conforms":
            return detailed
        return replace(found, cause=replace(found.cause, operator=AT_END))

    def examine(
        self,
        statements: Sequence[str],
        watched: Callable[[], AbstractContextManager[None]] = nullcontext,
        halfway: Callable[[], None] = lambda: None,
        known: Container[Cause] = (),
    ) -> Examined:
        """Compare a program; the backend runs within ``watched``, after a call of ``halfway``.

        A cause that is ``known`` is not confirmed once more.
        """
        try:
            program = drawn(statements)
        except ProgramError as error:
            return Examined("malformed", reason=str(error))
        return self._examined(program, self.oracle, self.backend, watched, halfway, known)

    def _examined(
        self,
        program: Program,
        oracle: Run,
        backend: Run,
        watched: Callable[[], AbstractContextManager[None]],
        halfway: Callable[[], None],
        known: Container[Cause],
    ) -> Examined:
        expected = oracle(program)
        halfway()
        with watched():
            got = backend(program)
        if expected.steps == got.steps:
            return Examined("conforms")
        verdict = compare(expected, got, program, False, self.claimed)
        levels = self._counted(program)
        cause = cause_of(program, verdict, levels)
        if cause is None:
            if len(levels) < len(self.levels) and cause_of(program, verdict, self.levels):
                return Examined("known")
            unsupported = verdict.outcome == "unsupported"
            return Examined(
                "unsupported" if unsupported else "conforms", reason=verdict.reason or ""
            )
        if cause not in known:
            if oracle(program).steps != expected.steps:
                return Examined("unsteady")
            again = compare(expected, backend(program), program, False, self.claimed)
            if cause_of(program, again, levels) != cause:
                return Examined("unsteady")
        if self._is_rounding(program, verdict, expected, oracle):
            return Examined("rounding")
        return Examined("diverges", cause)

    def _counted(self, program: Program) -> tuple[str, ...]:
        """The levels that count for a program."""
        excused = {
            level
            for text, levels in self.known.items()
            if text in program.source
            for level in levels
        }
        return tuple(level for level in self.levels if level not in excused)

    def _is_rounding(
        self, program: Program, verdict: Verdict, expected: Trace, oracle: Run
    ) -> bool:
        """Whether the first divergence is one in values, and rounding explains it."""
        divergence = verdict.divergences.get("values")
        counted = [
            verdict.divergences[level] for level in self.levels if level in verdict.divergences
        ]
        if divergence is not None and min(d.step for d in counted) == divergence.step:
            others = [d for d in counted if d is not divergence and d.step == divergence.step]
            return not others and is_rounding(program, divergence, expected, oracle)
        return False
