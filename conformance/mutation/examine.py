"""The examination of a mutant: which program of the suite notices it first, or which all do."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field
from itertools import islice
from typing import Any

from conformance.isolation.process import IsolationError
from conformance.mutation.mutant import Mutant
from conformance.mutation.trial import Difference, NotApplied, Trial
from conformance.observe.trace import Trace
from conformance.program.program import Program

RULES, SAMPLES, WHOLE = "rule", "sample", "whole program"
STAGES = (RULES, SAMPLES, WHOLE)
"""The programs of rules come first, then samples of operators and spellings of signatures, then
whole programs."""

KILLED, BY_SAMPLE, BY_WHOLE, SURVIVED, BROKEN = OUTCOMES = (
    "killed",
    "killed by a sample",
    "killed by a whole program only",
    "survived",
    "broken",
)

THE_RULE, THE_CHAPTER, ELSEWHERE = "names the rule", "names the chapter", "elsewhere"
"""How far the first line shown leads to the mistake."""


@dataclass(frozen=True)
class Kill:
    """A program that noticed a mutant: where, at which level, and in which words."""

    program: str
    stage: str
    rule: str | None
    sentence: str
    level: str
    shown: str


@dataclass
class Finding:
    """The result of examining one mutant; `kills` are in the order in which programs were run."""

    mutant: str
    area: str
    kind: str
    mistake: str
    breaks: tuple[str, ...]
    outcome: str = SURVIVED
    reason: str | None = None
    helpful: str | None = None
    programs: int = 0
    seconds: float = 0.0
    kills: list[Kill] = field(default_factory=list)

    def to_json(self) -> dict[str, Any]:
        """The finding as a JSON object."""
        return asdict(self)


@dataclass(frozen=True)
class Ground:
    """The material of examinations: programs by ID, the oracle's traces, and the backend."""

    programs: Mapping[str, Program]
    expected: Mapping[str, Trace]
    backend: str
    original: Callable[[], Any]
    timeout: float
    every: bool = False
    samples: bool = False

    def ordered(self, mutant: Mutant) -> Iterator[tuple[str, list[Program]]]:
        """The programs by stage, those first that are likeliest to notice the mutant.

        Samples are those of operators and areas (`signatures`) that the mutant says it breaks, or
        all with `samples`.
        """
        stages: dict[str, list[Program]] = {stage: [] for stage in STAGES}
        areas = {self._area(name) for name in mutant.breaks}
        for program in self.programs.values():
            stages[stage_of(program)].append(program)

        def rank(program: Program) -> int:
            named = {program.rule, program.area, program.operator} & set(mutant.breaks)
            if program.rule in named or program.operator in named:
                return mutant.breaks.index(str(program.rule or program.operator))
            return 100 if program.area in areas else 101

        if not self.samples:
            named = [p for p in stages[SAMPLES] if {p.operator, p.area} & set(mutant.breaks)]
            stages[SAMPLES] = named
        for stage, programs in stages.items():
            yield stage, sorted(programs, key=rank)

    def _area(self, name: str) -> str:
        """The area of a rule; any other name as it is."""
        found = (program.area for program in self.programs.values() if program.rule == name)
        return next(found, name)


def stage_of(program: Program) -> str:
    """The stage of a program: rules first."""
    if program.rule is not None:
        return RULES
    return WHOLE if program.area == "programs" else SAMPLES


class Examiner:
    """Examines mutants one after another, against the unchanged backend beside each."""

    def __init__(self, ground: Ground) -> None:
        self.ground = ground
        self._sound: dict[str, bool] = {}
        self._original = Trial(ground.backend, ground.original, ground.timeout)
        self._original.knows(ground.programs, ground.expected)

    def examine(self, mutant: Mutant, suite: bool = True) -> Finding:
        """Examine a mutant; without `suite` only whether its own program shows it."""
        begin = time.perf_counter()
        about = (mutant.name, mutant.area, mutant.kind, mutant.mistake, mutant.breaks)
        finding = Finding(*about)
        trial = Trial(mutant.name, mutant.apply, self.ground.timeout)
        try:
            if mutant.shows:
                self._check(mutant, trial)
            if suite:
                trial.knows(self.ground.programs, self.ground.expected)
                self._try(mutant, trial, finding)
        except (NotApplied, IsolationError) as error:
            finding.outcome, finding.reason = BROKEN, str(error)
        finally:
            trial.close()
        finding.seconds = round(time.perf_counter() - begin, 3)
        return finding

    def close(self) -> None:
        """End the process of the unchanged backend."""
        self._original.close()

    def _check(self, mutant: Mutant, trial: Trial) -> None:
        """Raise NotApplied unless the mutant's own program shows it."""
        program = Program(f"mutant/{mutant.name}", mutant.area, mutant.shows, mutant.mistake)
        alone = Trial(self.ground.backend, self.ground.original, self.ground.timeout)
        alone.knows({program.id: program}, {})
        try:
            expected = alone.trace(program.id)
        finally:
            alone.close()
        trial.knows({program.id: program}, {program.id: expected})
        if trial.difference(program.id) is None:
            raise NotApplied("its own program shows no difference: the mutant changes nothing")

    def _try(self, mutant: Mutant, trial: Trial, finding: Finding) -> None:
        """Run the programs on the mutant, up to the first that notices it, or all of a stage."""
        outcomes = {RULES: KILLED, SAMPLES: BY_SAMPLE, WHOLE: BY_WHOLE}
        for stage, programs in self.ground.ordered(mutant):
            kills = self._kills(stage, programs, trial, finding)
            finding.kills = list(kills if self.ground.every else islice(kills, 1))
            if finding.kills:
                finding.outcome = outcomes[stage]
                finding.helpful = self._helpful(mutant, finding.kills[0])
                return

    def _kills(
        self, stage: str, programs: Iterable[Program], trial: Trial, finding: Finding
    ) -> Iterator[Kill]:
        for program in programs:
            finding.programs += 1
            found = trial.difference(program.id)
            if found is not None and self._is_sound(program.id):
                yield _kill(stage, program, found)

    def _is_sound(self, identifier: str) -> bool:
        """Whether a program conforms without any mutant: only then its difference counts."""
        if identifier not in self._sound:
            self._sound[identifier] = self._original.difference(identifier) is None
        return self._sound[identifier]

    def _helpful(self, mutant: Mutant, kill: Kill) -> str:
        program = self.ground.programs[kill.program]
        if {program.rule, program.operator} & set(mutant.breaks):
            return THE_RULE
        areas = {self.ground._area(name) for name in mutant.breaks}
        return THE_CHAPTER if program.area in areas else ELSEWHERE


def _kill(stage: str, program: Program, found: Difference) -> Kill:
    return Kill(program.id, stage, program.rule, program.sentence, found.level, found.shown)
