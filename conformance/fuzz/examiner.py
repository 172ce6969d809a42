"""The examiner: runs a random program on oracle and backend, and says how they differ."""

from __future__ import annotations

from collections.abc import Callable, Container, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass

from conformance.base.levels import LEVELS
from conformance.compare.compare import compare
from conformance.compare.verdict import Verdict
from conformance.fuzz.causes import Cause, cause_of
from conformance.fuzz.rounding import is_rounding
from conformance.observe.trace import Trace
from conformance.program.program import Program, ProgramError

Run = Callable[[Program], Trace]


@dataclass(frozen=True)
class Examined:
    """The outcome of a program, and the cause where it diverges.

    Outcomes are those of a run, and two more: `rounding` where the oracle's own value is as
    uncertain as the difference, `unsteady` where a side differs from itself.
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
    ) -> None:
        """``levels`` count; ``claimed`` are those that the backend claims."""
        self.oracle, self.backend = oracle, backend
        self.levels, self.claimed = tuple(levels), tuple(claimed)

    def examine(
        self,
        program: Program,
        watched: Callable[[], AbstractContextManager[None]] = nullcontext,
        halfway: Callable[[], None] = lambda: None,
        known: Container[Cause] = (),
    ) -> Examined:
        """Compare the program; the backend runs within ``watched``, after a call of ``halfway``.

        A cause that is ``known`` is not confirmed once more.
        """
        try:
            program.statements  # noqa: B018 (a mutation may not parse)
        except ProgramError as error:
            return Examined("malformed", reason=str(error))
        expected = self.oracle(program)
        halfway()
        with watched():
            got = self.backend(program)
        if expected.steps == got.steps:
            return Examined("conforms")
        verdict = compare(expected, got, program, False, self.claimed)
        cause = cause_of(program, verdict, self.levels)
        if cause is None:
            unsupported = verdict.outcome == "unsupported"
            return Examined(
                "unsupported" if unsupported else "conforms", reason=verdict.reason or ""
            )
        if cause in known:
            return Examined("diverges", cause)
        return self._confirmed(program, verdict, cause, expected)

    def _confirmed(
        self, program: Program, verdict: Verdict, cause: Cause, expected: Trace
    ) -> Examined:
        """The divergence, unless it does not repeat, or rounding explains it."""
        if self.oracle(program).steps != expected.steps:
            return Examined("unsteady")
        again = compare(expected, self.backend(program), program, False, self.claimed)
        if cause_of(program, again, self.levels) != cause:
            return Examined("unsteady")
        divergence = verdict.divergences.get("values")
        counted = [
            verdict.divergences[level] for level in self.levels if level in verdict.divergences
        ]
        if divergence is not None and min(d.step for d in counted) == divergence.step:
            others = [d for d in counted if d is not divergence and d.step == divergence.step]
            if not others and is_rounding(program, divergence, expected, self.oracle):
                return Examined("rounding")
        return Examined("diverges", cause)
