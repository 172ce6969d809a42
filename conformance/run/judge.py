"""The judge: runs a program on oracle and backend, and makes its line of the run file."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping
from functools import cached_property, partial
from typing import Any

from conformance import backends
from conformance.base import interruption
from conformance.base.levels import LEVELS, NOT_COMPARED
from conformance.base.torch_versions import is_older, minor
from conformance.compare.compare import compare, stated
from conformance.compare.known import KnownDivergences
from conformance.execution.execute import trace
from conformance.execution.recorded import Recorded, find_recording, history, is_as_history
from conformance.execution.recordings import (
    DiedThen,
    NotRecorded,
    is_recorded,
)
from conformance.execution.trace_file import RecordingError
from conformance.isolation.child import Child, Unsupported
from conformance.isolation.port import Port, is_port
from conformance.isolation.process import IsolationError, TimedOut
from conformance.observe.trace import Trace
from conformance.program.program import Program
from conformance.run.past import Past
from conformance.settings.settings import Settings
from conformance.suite import docstrings
from conformance.suite.conventions import convention_of
from conformance.sweep.sample import AREA, is_entry
from conformance.sweep.verdict import add_first_sample, settle

NONE = "none"
"""The oracle of a run without one: programs are judged by their comments."""

# An entry of the sweep has hundreds of samples: it may take this many times a program's timeout.
SWEEP_TIMEOUT = 10


class Judge:
    """Runs programs on an oracle, in this process, and on a backend, in a process of its own.

    Either may be recorded, and is read then. Backends are set up at the first program. `close`
    ends the process.
    """

    def __init__(
        self, settings: Settings, known: KnownDivergences, unavailable: str | None = None
    ) -> None:
        """``unavailable`` is the reason why nothing can be run (no such device), for every line."""
        self.settings = settings
        self.known = known
        self.unavailable = unavailable
        self._oracle: Callable[[Program], Trace] | None = None
        self._backend: Child | backends.Backend | Recorded | None = None
        self._sweep: Child | None = None

    def line(self, program: Program) -> dict[str, Any]:
        """Return the program's line of the run file; errors become its outcome, none is raised."""
        interruption.check()
        line = blank_line(program)
        if self.unavailable:
            return {**line, "outcome": "not_run", "reason": self.unavailable}
        if self.settings.oracle == NONE:
            return self._stated(line, program)
        if is_entry(program):
            if is_recorded(self.settings.oracle) or is_recorded(self.settings.backend):
                reason = "a recording has no samples of torch's database: the sweep needs torch"
                return {**line, "outcome": "not_run", "reason": reason}
            return self._swept(line, program)
        try:
            program = self.written(program)
        except LookupError as error:
            return {**line, "outcome": "not_run", "reason": str(error)}
        return self._traced({**line, "source": program.paste()}, program)

    def written(self, program: Program) -> Program:
        """The program itself, or the example that it stands for; raises LookupError without one."""
        if program.area != docstrings.AREA:
            return program
        if is_recorded(self.settings.oracle):
            raise LookupError("a recording has no docstrings of torch: its examples need torch")
        example: Program = self._found(self.settings.oracle).example(program.id)
        return example

    def sample(self, identifier: str) -> Program:
        """One sample of the sweep as a program; raises IsolationError if there is none."""
        return self._sweeper().sample(identifier)

    def _swept(self, line: dict[str, Any], program: Program) -> dict[str, Any]:
        """The line of an entry of the sweep, with the traces of the first sample that diverges."""
        begin = time.perf_counter()
        entry, dtype = program.id.removeprefix(f"{AREA}/").rsplit("/", 1)
        try:
            tally = self._sweeper().tally(entry, dtype)
            line["seconds"]["backend"] = round(time.perf_counter() - begin, 6)
            settle(line, tally, self.settings.selection.levels)
            if line["divergences"]:
                first = next(iter(line["divergences"].values()))["sample"]
                sample = self.sample(first)
                add_first_sample(line, self._traced(blank_line(sample), sample))
        except Exception as error:
            return {**line, **self._backend_fault(error), "got": None}
        line["known"] = self.known.known_divergence(line, self.settings.selection.levels)
        return line

    def _stated(self, line: dict[str, Any], program: Program) -> dict[str, Any]:
        """The line where there is no oracle: the program's own comments are the expectation."""
        if not any(statement.expects for statement in program.statements):
            reason = "the program states nothing by itself: it needs an oracle"
            return {**line, "outcome": "not_run", "reason": reason}
        begin = time.perf_counter()
        try:
            got = self._got(program)
            verdict = stated(program, got).to_json()
        except Exception as error:
            return {**line, **self._backend_fault(error), "got": None}
        line["seconds"]["backend"] = round(time.perf_counter() - begin, 6)
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
        begin = time.perf_counter()
        try:
            expected = self.expected(program)
        except NotRecorded as error:
            return {**line, "outcome": "not_run", "reason": str(error)}
        except Exception as error:
            return {**line, "outcome": "error", "reason": _fault("the oracle", error)}
        line["expected"] = expected.to_json()
        middle = time.perf_counter()
        line["seconds"]["oracle"] = round(middle - begin, 6)
        try:
            got = self._got(program)
        except Exception as error:
            line["seconds"]["backend"] = round(time.perf_counter() - middle, 6)
            return {**line, **self._backend_fault(error), "got": None}
        line["seconds"]["backend"] = round(time.perf_counter() - middle, 6)
        return self._compared(line, program, expected, got)

    def traces(self, program: Program) -> tuple[Trace, Trace]:
        """The oracle's and the backend's trace, each in fresh state; raises their errors."""
        return self.expected(program), self._got(program)

    def close(self) -> None:
        """End the backend's process."""
        if isinstance(self._backend, Child):
            self._backend.close()
        if self._sweep is not None:
            self._sweep.close()
        self._backend = self._sweep = None

    def expected(self, program: Program) -> Trace:
        """The oracle's trace; raises BackendError, NotRecorded, or the oracle's own error."""
        if self._oracle is None:
            self._oracle = self._oracle_set_up()
        return self._oracle(program)

    def _oracle_set_up(self) -> Callable[[Program], Trace]:
        if self._recorded is not None:
            return self._recorded.trace
        return partial(trace, backend=self._found(self.settings.oracle))

    def _got(self, program: Program) -> Trace:
        if self._backend is None:
            self._backend = self._start()
        if isinstance(self._backend, backends.Backend):
            return trace(program, self._backend)
        return self._backend.trace(program)

    def _claimed(self) -> tuple[str, ...]:
        """The levels that the backend claims."""
        backend = self._backend
        if isinstance(backend, Child):
            return backend.identity().levels
        return backend.levels if isinstance(backend, backends.Backend) else LEVELS

    def _found(self, name: str) -> backends.Backend:
        found = backends.find(name, self.settings.imports)
        found.seed = self.settings.seed
        found.default_dtype = self.settings.default_dtype
        return found

    def _start(self) -> Child | backends.Backend | Recorded:
        settings = self.settings
        if is_recorded(settings.backend):
            return self._recording(settings.backend)
        if settings.isolation:
            return child(settings)
        return self._found(settings.backend)

    def _compared(
        self, line: dict[str, Any], program: Program, expected: Trace, got: Trace
    ) -> dict[str, Any]:
        try:
            claimed = self._claimed()
            verdict = compare(expected, got, program, self._is_stated(), claimed).to_json()
        except Exception as error:
            return {**line, "outcome": "error", "reason": _fault("the comparison", error)}
        for name in ("levels", "divergences", "specification", "reason"):
            line[name] = verdict.get(name) or line[name]
        if (shown := convention_of(program.id, expected, got)) is not None:
            line["convention"] = shown
        line["ulp"] = {dtype: _finite(error) for dtype, error in verdict["ulp"].items()}
        observed = got.to_json()
        if observed != line["expected"]:
            line["got"] = observed
        levels = self.settings.selection.levels
        line["outcome"] = outcome(verdict, levels)
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
        return line

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
        if self._recorded is not None:
            return minor(str(self._recorded.oracle.get("version")))
        if self.settings.oracle.partition(":")[0] != "torch":
            return None
        return minor(self._found(self.settings.oracle).version)

    @cached_property
    def _recorded(self) -> Recorded | None:
        """The recording that is the oracle, if one is; raises RecordingError."""
        oracle = self.settings.oracle
        return self._recording(oracle) if is_recorded(oracle) else None

    def _recording(self, name: str) -> Recorded:
        recording = find_recording(name)
        recording.check(self.settings.seed, self.settings.default_dtype)
        return recording

    def _backend_fault(self, error: Exception) -> dict[str, str]:
        """The outcome of a program of which the backend gave no trace, and the reason."""
        if isinstance(error, Unsupported):
            return {"outcome": "unsupported", "reason": str(error)}
        if isinstance(error, NotRecorded):
            ended = "error" if isinstance(error, DiedThen) else "not_run"
            return {"outcome": ended, "reason": str(error)}
        reason = _fault("the backend", error)
        if isinstance(error, TimedOut):
            reason += " (see --timeout)"
        return {"outcome": "error", "reason": reason}


def child(settings: Settings, oracle: str | None = None, times: float = 1) -> Child:
    """The process, not started yet, in which the backend of these settings runs programs.

    With an ``oracle`` it serves the sweep. Requests may take ``times`` the usual timeout.
    """
    kind = Port if is_port(settings.backend) else Child
    return kind(
        settings.backend,
        settings.imports,
        timeout=settings.timeout * times,
        start_timeout=settings.start_timeout,
        seed=settings.seed,
        default_dtype=settings.default_dtype,
        oracle=oracle,
    )


def blank_line(program: Program) -> dict[str, Any]:
    """A program's line of the run file before it is run."""
    return {
        "type": "program",
        **program.about,
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
