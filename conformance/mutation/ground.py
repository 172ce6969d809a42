"""The ground of an examination: the suite's programs, and the oracle's traces of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from conformance import backends
from conformance.execution.execute import trace
from conformance.execution.recorded import Recorded, find_recording
from conformance.execution.recordings import NotRecorded, is_recorded
from conformance.mutation.examine import RULES, Ground, stage_of
from conformance.observe.trace import Trace
from conformance.program.program import Program
from conformance.settings.settings import Settings
from conformance.suite.suite import Suite

LEFT_OUT = ("sweep", "laws")
"""Areas whose programs need torch's database, or state nothing of an oracle."""


class Traces(Mapping[str, Trace]):
    """An oracle's traces by program, each made when it is asked for, and kept.

    A program without a trace raises NotRecorded.
    """

    def __init__(
        self, programs: Mapping[str, Program], oracle: Recorded | backends.Backend
    ) -> None:
        self._programs, self._oracle = programs, oracle
        self._made: dict[str, Trace] = {}

    def __getitem__(self, identifier: str) -> Trace:
        if identifier not in self._made:
            program = self._programs[identifier]
            if isinstance(self._oracle, Recorded):
                self._made[identifier] = self._oracle.trace(program)
            else:
                self._made[identifier] = trace(program, self._oracle)
        return self._made[identifier]

    def __iter__(self) -> Iterator[str]:
        return iter(self._programs)

    def __len__(self) -> int:
        return len(self._programs)


def ground(
    settings: Settings, suite: Suite, every: bool, samples: bool
) -> tuple[Ground, list[str]]:
    """The ground by the settings, and the rules' programs of which the oracle has no trace.

    Programs of rules are parsed and traced here, so that forked processes find that done. Raises
    BackendError for a backend or an oracle that cannot be had, ProgramError for a program that
    does not parse.
    """
    possible = [p for p in suite.programs if p.runs_on("cpu")]
    programs = {p.id: p for p in possible if p.area not in LEFT_OUT}
    backend = backends.find(settings.backend, settings.imports)
    oracle: Recorded | backends.Backend
    if is_recorded(settings.oracle):
        oracle = find_recording(settings.oracle)
        oracle.check(settings.seed, settings.default_dtype)
    else:
        oracle = backends.find(settings.oracle, settings.imports)
    traces = Traces(programs, oracle)
    missing = []
    for program in list(programs.values()):
        if stage_of(program) == RULES:
            try:
                traces[program.id]
            except NotRecorded:
                missing.append(program.id)
                del programs[program.id]
                continue
            program.statements  # noqa: B018  parsed, and kept
    made = Ground(
        programs,
        traces,
        settings.backend,
        lambda: backend.namespace,
        settings.timeout,
        every,
        samples,
    )
    return made, missing
