"""The judge: runs a program on oracle and backend, and makes its line of the run file."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping
from functools import cached_property, partial
from typing import Any

from conformance import backends
from conformance.base import interruption
from conformance.base.levels import NOT_COMPARED
from conformance.base.torch_versions import is_older, minor
from conformance.compare.compare import compare, stated
from conformance.compare.known import KnownDivergences
from conformance.compare.unmet import contradicted
from conformance.execution.recorded import history, is_as_history
from conformance.execution.recordings import (
    DiedThen,
    NotRecorded,
    is_recorded,
)
from conformance.execution.trace_file import RecordingError
from conformance.isolation.child import Child, Unsupported
from conformance.isolation.process import IsolationError, TimedOut
from conformance.observe.trace import Trace
from conformance.program.classes import classes_of
from conformance.program.program import Program
from conformance.run.breaker import Breaker
from conformance.run.past import Past
from conformance.run.sides import NONE, SIDES, Shown, Sides, child
from conformance.settings.settings import Settings
from conformance.suite import docstrings
from conformance.suite.conventions import convention_of
from conformance.sweep.sample import AREA, NoEntry, is_entry
from conformance.sweep.verdict import add_first_sample, settle

# An entry of the sweep has hundreds of samples: it may take this many times a program's timeout.
SWEEP_TIMEOUT = 10


class Judge:
    """Runs programs on an oracle and on a backend, each in a process of its own, or recorded.

    Both are set up at the first program. `close` ends the processes.
    """

    def __init__(
        self,
        settings: Settings,
        known: KnownDivergences,
        unavailable: str | None = None,
        left: float | None = None,
        sides: Sides | None = None,
    ) -> None:
        """``unavailable`` is the reason why nothing can be run (no such device), for every line.

        ``left`` is how many seconds the run may still take. ``sides`` may have been started; the
        judge ends them.
        """
        self.settings = settings
        self.known = known
        self.unavailable = unavailable
        self.breaker = Breaker(settings, left)
        self.sides = sides or Sides(settings)
        self._sweep: Child | None = None

    def line(self, program: Program) -> dict[str, Any]:
        """Return the program's line of the run file; errors become its outcome, none is raised."""
        interruption.check()
        if reason := self.unavailable or self.breaker.reason():
            return {**blank_line(program), "outcome": "not_run", "reason": reason}
        try:
            return self._line(program)
        except Exception as error:
            return lost_line(program, _fault("the harness", error))

    def _line(self, program: Program) -> dict[str, Any]:
        line = blank_line(program)
        if program.device != "any":
            device = self.sides["backend"].identity().device
            if not program.runs_on(device):
                return {**line, "outcome": "not_run", "reason": _of_others(program, device)}
        if self.settings.oracle == NONE or program.needs_accelerator:
            return self._stated(line, program)  # the oracle is on the CPU
        if is_entry(program):
            if is_recorded(self.settings.oracle) or is_recorded(self.settings.backend):
                reason = "a recording has no samples of torch's database: the sweep needs torch"
                return {**line, "outcome": "not_run", "reason": reason}
            return self._swept(line, program)
        try:
            program = self.written(program)
        except LookupError as error:
            return {**line, "outcome": "not_run", "reason": str(error)}
        except Exception as error:
            return {**line, **self._fault("the oracle", error)}
        return self._traced({**line, "source": program.paste()}, program)

    def written(self, program: Program) -> Program:
        """The program itself, or the example that it stands for.

        Raises LookupError where there is no example, BackendError or IsolationError where the
        oracle cannot be asked.
        """
        if program.area != docstrings.AREA:
            return program
        return self.sides["oracle"].example(program.id)

    def sample(self, identifier: str) -> Program:
        """One sample of the sweep as a program; raises IsolationError if there is none."""
        return self._sweeper().sample(identifier)

    def _swept(self, line: dict[str, Any], program: Program) -> dict[str, Any]:
        """The line of an entry of the sweep, with the traces of the first sample that diverges."""
        begin = time.perf_counter()
        entry, dtype = program.id.removeprefix(f"{AREA}/").rsplit("/", 1)
        try:
            tally = self._sweeper().tally(entry, dtype, self.breaker.left())
            line["seconds"]["backend"] = round(time.perf_counter() - begin, 6)
            settle(line, tally, self.settings.selection.levels)
            if line["divergences"]:
                first = next(iter(line["divergences"].values()))["sample"]
                sample = self.sample(first)
                add_first_sample(line, self._traced(blank_line(sample), sample))
        except NoEntry as error:
            return {**line, "outcome": "not_run", "reason": str(error)}
        except Exception as error:
            return {**line, **self._backend_fault(error), "got": None}
        self.breaker.note()
        line["known"] = self.known.known_divergence(line, self.settings.selection.levels)
        return line

    def _stated(self, line: dict[str, Any], program: Program) -> dict[str, Any]:
        """The line where there is no oracle: the program's own comments are the expectation."""
        if not any(statement.expects for statement in program.statements):
            reason = "the program states nothing by itself: it needs an oracle"
            return {**line, "outcome": "not_run", "reason": reason}
        (shown,) = self._shown(program, "backend")
        line["seconds"]["backend"] = round(shown.seconds, 6)
        try:
            got = shown.result()
            verdict = stated(program, got).to_json()
        except Exception as error:
            return {**line, **self._backend_fault(error), "got": None}
        self.breaker.note()
        line["got"] = got.to_json()
        for name in ("levels", "divergences", "reason"):
            line[name] = verdict.get(name) or line[name]
        line["outcome"] = outcome(verdict, self.settings.selection.levels)
        line["known"] = self.known.known_divergence(line, self.settings.selection.levels)
        return line

    def _sweeper(self) -> Child:
        if self._sweep is None:
            self._sweep = child(self.settings, self.settings.oracle, SWEEP_TIMEOUT)
        return self._sweep

    def _traced(self, line: dict[str, Any], program: Program) -> dict[str, Any]:
        if program.names_other_device and self._has_one_device():
            return {**line, "outcome": "not_run", "reason": "the backend has no other device"}
        # Of a recording it is seen first whether it has the program.
        first, *second = self._shown(program, *(SIDES if self.sides.are_processes else ("oracle",)))
        line["seconds"]["oracle"] = round(first.seconds, 6)
        try:
            expected = first.result()
        except Exception as error:
            return {**line, **self._fault("the oracle", error)}
        line["expected"] = expected.to_json()
        (shown,) = second or self._shown(program, "backend")
        line["seconds"]["backend"] = round(shown.seconds, 6)
        try:
            got = shown.result()
        except Exception as error:
            return {**line, **self._backend_fault(error), "got": None}
        self.breaker.note()
        return self._compared(line, program, expected, got)

    def _has_one_device(self) -> bool:
        """Whether the backend says that it has no second device; an unknown one does not."""
        try:
            return self.sides["backend"].identity().other_device is None
        except Exception:  # which running the program reports
            return False

    def close(self) -> None:
        """End the processes."""
        self.sides.close()
        if self._sweep is not None:
            self._sweep.close()

    def expected(self, program: Program) -> Trace:
        """The oracle's trace; raises BackendError, NotRecorded, or the oracle's own error."""
        (shown,) = self._shown(program, "oracle")
        return shown.result()

    def _shown(self, program: Program, *roles: str) -> list[Shown]:
        return self.sides.shown(program, roles, self.breaker.left())

    def _compared(
        self, line: dict[str, Any], program: Program, expected: Trace, got: Trace
    ) -> dict[str, Any]:
        try:
            claimed = self.sides["backend"].identity().levels
            found = compare(expected, got, program, self._is_stated(), claimed)
            verdict = found.to_json()
            diverges = found.outcome == "diverges" and self._is_stated()
            against = contradicted(program, got, found.specification) if diverges else None
        except Exception as error:
            return {**line, "outcome": "error", "reason": _fault("the comparison", error)}
        for name in ("levels", "divergences", "specification", "reason"):
            line[name] = verdict.get(name) or line[name]
        if "permitted" in verdict:
            line["permitted"] = verdict["permitted"]
        if (shown := convention_of(program.id, expected, got)) is not None:
            line["convention"] = shown
        line["ulp"] = {dtype: _finite(error) for dtype, error in verdict["ulp"].items()}
        observed = got.to_json()
        if observed != line["expected"]:
            line["got"] = observed
        levels = self.settings.selection.levels
        line["outcome"] = outcome(verdict, levels)
        if line["outcome"] == "diverges" and against is not None:
            line["contradicted"] = against
        if line["outcome"] == "conforms" and _is_blind(verdict, program, expected, levels):
            line["outcome"] = "unsupported"
            line["reason"] = f"nothing of level {', '.join(levels)} can be seen on this backend"
        if line["outcome"] == "unsupported":
            line["levels"] = {}
        if self._past is not None:
            try:
                line |= self._past.found(line, program, expected, got, claimed)
            except RecordingError as error:
                return {**line, "outcome": "error", "reason": _fault("the history", error)}
        line["known"] = self.known.known_divergence(line, levels)
        return line | self._saved(line, program, expected, got)

    def _saved(
        self, line: dict[str, Any], program: Program, expected: Trace, got: Trace
    ) -> dict[str, Any]:
        """The saved tensors for the program's drawing: torch's as far as they are recorded, and
        where it diverges those of both sides, which run it once more."""
        found: dict[str, list[Any] | None] = {}
        if self._past is not None:
            found["expected"] = self._past.saved(program)
        if line["outcome"] in ("diverges", "other_version"):
            # A process that has run parts of a program ends, which a known divergence is not worth.
            read = partial(
                self.sides.saved, program, by_parts=not line["known"], timeout=self.breaker.left()
            )
            found["expected"] = found.get("expected") or read("oracle", expected)
            found["got"] = read("backend", got)
        saved = {side: rows for side, rows in found.items() if rows and any(rows)}
        return {"saved": saved} if saved else {}

    def _is_stated(self) -> bool:
        """Whether the oracle has to meet the comments: they are about float32 and the baseline."""
        return self.settings.default_dtype == "float32" and not is_older(self._oracle_version)

    @cached_property
    def _past(self) -> Past | None:
        """The history beside the run, if the oracle is torch on the CPU, run as the history was."""
        settings = self.settings
        if not is_as_history(settings.oracle, settings.seed, settings.default_dtype):
            return None
        found = history()
        return Past(found, self._oracle_version, settings) if found is not None else None

    @cached_property
    def _oracle_version(self) -> str | None:
        """The oracle's minor version of torch; None for an oracle that is not torch."""
        is_torch = self.settings.oracle.partition(":")[0] == "torch"
        if not is_torch and not is_recorded(self.settings.oracle):
            return None
        return minor(self.sides["oracle"].identity().version)

    def _backend_fault(self, error: Exception) -> dict[str, Any]:
        """The outcome of a program of which the backend gave no trace, and the reason."""
        if isinstance(error, Unsupported):
            self.breaker.note()
            return {"outcome": "unsupported", "reason": str(error)}
        return self._fault("the backend", error)

    def _fault(self, role: str, error: Exception) -> dict[str, Any]:
        """The outcome of a program of which one side gave no trace, and the reason."""
        if isinstance(error, NotRecorded):
            ended = "error" if isinstance(error, DiedThen) else "not_run"
            return {"outcome": ended, "reason": str(error)}
        reason = _fault(role, error)
        if isinstance(error, TimedOut) and (over := self.breaker.reason()):
            return {"outcome": "not_run", "reason": over}
        if isinstance(error, TimedOut):
            reason += " (see --timeout)"
        self.breaker.note(error, reason)
        return {"outcome": "error", "reason": reason}


def _of_others(program: Program, device: str | None) -> str:
    """The reason why a program is not run on a device that it is not about."""
    needed = {"accelerator": "an accelerator", "cuda": "CUDA"}.get(program.device, "the CPU")
    return f"it is about {needed}, and the backend's device is {device or 'none'}"


def blank_line(program: Program) -> dict[str, Any]:
    """A program's line of the run file before it is run."""
    classes = classes_of(program)
    return {
        "type": "program",
        **program.about,
        **({"classes": list(classes)} if classes else {}),
        "file": program.file,
        "line": program.line,
        "source": program.paste(),
        "outcome": "not_run",
        "levels": {},
        "divergences": {},
        "specification": [],
        "ulp": {},
        "reason": None,
        "known": None,
        "expected": None,
        "seconds": {"oracle": None, "backend": None},
    }


def lost_line(program: Program, reason: str) -> dict[str, Any]:
    """The line of a program whose result never arrived."""
    return {**blank_line(program), "outcome": "error", "reason": reason, "got": None}


def outcome(verdict: Mapping[str, Any], levels: tuple[str, ...]) -> str:
    """The outcome when only ``levels`` count for pass or fail.

    A comment of the program that the oracle does not meet is a divergence at any level.
    """
    if verdict["outcome"] in NOT_COMPARED:
        return verdict["outcome"]
    if verdict.get("specification"):
        return "diverges"
    diverges = any(verdict["levels"].get(level) == "diverges" for level in levels)
    return "diverges" if diverges else "conforms"


def _is_blind(
    verdict: Mapping[str, Any], program: Program, expected: Trace, levels: tuple[str, ...]
) -> bool:
    """Whether the oracle has observations at these levels, and the backend has none."""
    if any(verdict["levels"].get(level) != "not_applicable" for level in levels):
        return False
    visible = compare(expected, expected, program).levels
    return any(visible.get(level) != "not_applicable" for level in levels)


def _finite(error: float) -> float | str:
    return error if math.isfinite(error) else "inf"


def _fault(side: str, error: Exception) -> str:
    if isinstance(error, IsolationError | backends.BackendError):
        return f"{side}: {error}"
    return f"{side}: {type(error).__name__}: {error}"
