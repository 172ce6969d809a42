"""Trials: programs on an implementation in forked processes, each compared with a known trace."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from conformance import backends
from conformance.compare.compare import compare
from conformance.execution.execute import trace
from conformance.isolation.forked import Answer, fork
from conformance.isolation.process import IsolationError, Process, TimedOut
from conformance.observe.trace import Trace
from conformance.output.display import pair, where
from conformance.program.program import Program

APPLY_TIMEOUT = 60.0


class NotApplied(Exception):
    """The mistake could not be put into the implementation; the message says why."""


@dataclass(frozen=True)
class Difference:
    """The first difference of a program: its level, and where it is seen."""

    level: str
    line: int | None
    shown: str


class Trial:
    """An implementation in a forked process; after a crash or a hang it is forked again."""

    def __init__(self, name: str, namespace: Callable[[], Any], timeout: float) -> None:
        """`namespace` is called in the process, and returns the torch-shaped implementation."""
        self.name = name
        self.timeout = timeout
        self._namespace = namespace
        self._process: Process | None = None
        self._programs: dict[str, Program] = {}
        self._expected: Mapping[str, Trace] = {}

    def knows(self, programs: Mapping[str, Program], expected: Mapping[str, Trace]) -> None:
        """Set the programs, and the traces that they are compared with, before the first of them.

        Processes inherit them, so that nothing is sent but the programs' IDs.
        """
        self.close()
        self._programs, self._expected = dict(programs), expected

    def start(self) -> None:
        """Start the process; raises NotApplied if the implementation cannot be made there."""
        process = fork(self._begin)
        try:
            answer = process.ask({}, APPLY_TIMEOUT)
        except IsolationError as error:
            process.close()
            raise NotApplied(str(error)) from None
        if "failed" in answer:
            process.close()
            raise NotApplied(str(answer["failed"]))
        self._process = process

    def difference(self, identifier: str) -> Difference | None:
        """The first difference of a program from its trace; None if it conforms."""
        if self._process is None:
            self.start()
        assert self._process is not None
        try:
            answer = self._process.ask({"program": identifier}, self.timeout)
        except IsolationError as error:
            self.close()
            first = str(error).splitlines()[0]
            return Difference("hangs" if isinstance(error, TimedOut) else "dies", None, first)
        if "failed" in answer:
            return Difference("error", None, str(answer["failed"]))
        found = answer["difference"]
        return None if found is None else Difference(**found)

    def trace(self, identifier: str) -> Trace:
        """The trace of a program; raises IsolationError."""
        if self._process is None:
            self.start()
        assert self._process is not None
        return Trace.from_json(self._process.ask({"trace": identifier}, self.timeout).get("trace"))

    def close(self) -> None:
        """End the process, if there is one."""
        if self._process is not None:
            self._process.close()
            self._process = None

    def _begin(self) -> Answer:
        backend: backends.Backend | None = None

        def answer(request: dict[str, Any]) -> dict[str, Any]:
            nonlocal backend
            if backend is None:
                backend = backends.from_object(self.name, self._namespace())
                return {}
            if "trace" in request:
                program = self._programs[request["trace"]]
                return {"trace": trace(program, backend).to_json()}
            program = self._programs[request["program"]]
            got = trace(program, backend)
            return {"difference": _difference(program, self._expected[program.id], got)}

        return answer


def _difference(program: Program, expected: Trace, got: Trace) -> dict[str, Any] | None:
    verdict = compare(expected, got, program, stated=False, permitting=False)
    if verdict.outcome == "conforms":
        return None
    if (found := verdict.earliest()) is None:
        return {"level": verdict.outcome, "line": None, "shown": str(verdict.reason)}
    level, first = found
    expected_text, got_text = pair(first.expected, first.got, 80)
    place = where(first.to_json())
    shown = f"line {first.line}, {place}: expected {expected_text}, got {got_text}"
    return {"level": level, "line": first.line, "shown": shown}
