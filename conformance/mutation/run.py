"""Examinations of many mutants, side by side, and conclusions about the rules."""

from __future__ import annotations

import gc
import multiprocessing
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from typing import Any

from conformance.base.release import version
from conformance.mutation.examine import (
    BROKEN,
    BY_SAMPLE,
    KILLED,
    RULES,
    Examiner,
    Finding,
    Ground,
    stage_of,
)
from conformance.mutation.mutant import Mutant

SCHEMA = 1


class _Lane:
    """The examiner of a process, and the mutants by name; forked processes inherit the latter."""

    mutants: dict[str, Mutant] = {}  # noqa: RUF012  set once, before processes are forked
    ground: Ground
    suite: bool
    examiner: Examiner | None = None

    @classmethod
    def examine(cls, name: str) -> Finding:
        if cls.examiner is None:
            cls.examiner = Examiner(cls.ground)
        return cls.examiner.examine(cls.mutants[name], cls.suite)


def examined(
    mutants: Sequence[Mutant], ground: Ground, processes: int, suite: bool = True
) -> Iterator[Finding]:
    """Examine the mutants, in this process (0) or in several, and yield each finding when it is
    there.

    Without ``suite`` only each mutant's own program is run.
    """
    _Lane.mutants = {mutant.name: mutant for mutant in mutants}
    _Lane.ground, _Lane.suite, _Lane.examiner = ground, suite, None
    gc.collect()
    gc.freeze()  # or a collection in each forked process would copy all memory
    if not processes:
        try:
            yield from map(_Lane.examine, _Lane.mutants)
        finally:
            if _Lane.examiner is not None:
                _Lane.examiner.close()
        return
    context = multiprocessing.get_context("fork")
    with ProcessPoolExecutor(processes, mp_context=context) as pool:
        waiting = [pool.submit(_Lane.examine, name) for name in _Lane.mutants]
        try:
            for done in as_completed(waiting):
                yield done.result()
        finally:
            pool.shutdown(cancel_futures=True)


def is_good(finding: Finding) -> bool:
    """Whether a rule, or an operator's samples, noticed the mutant."""
    return finding.outcome in (KILLED, BY_SAMPLE)


def document(
    findings: Iterable[Finding], ground: Ground, catalogue: str, oracle: str, suite: bool = True
) -> dict[str, Any]:
    """The examination as one JSON object."""
    found = sorted(findings, key=lambda finding: (finding.area, finding.mutant))
    made = {
        "schema": SCHEMA,
        "suite": version(),
        "backend": ground.backend,
        "oracle": oracle,
        "catalogue": catalogue,
        "all": ground.every,
        "samples": ground.samples,
        "check": not suite,
        "mutants": [finding.to_json() for finding in found],
    }
    if ground.every:
        made["idle"] = idle_rules(found, ground)
    return made


def idle_rules(findings: Sequence[Finding], ground: Ground) -> list[dict[str, Any]]:
    """The rules without which every mutant would be killed all the same, with how many they kill.

    It takes findings of all kills, not of the first ones.
    """
    rules = {p.rule: p.sentence for p in ground.programs.values() if stage_of(p) == RULES}
    killed = dict.fromkeys(rules, 0)
    alone = set()
    for finding in findings:
        by = {kill.rule for kill in finding.kills if kill.stage == RULES}
        for rule in by:
            killed[rule] += 1
        if len(by) == 1:
            alone |= by
    return [
        {"rule": rule, "sentence": sentence, "kills": killed[rule]}
        for rule, sentence in rules.items()
        if rule not in alone
    ]


def exit_code(findings: Sequence[Finding], suite: bool = True) -> int:
    """0 if every mutant was noticed by a rule or a sample, 1 otherwise."""
    if not suite:
        return int(any(finding.outcome == BROKEN for finding in findings))
    return int(not all(map(is_good, findings)))
