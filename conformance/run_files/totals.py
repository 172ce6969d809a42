"""Totals over the lines of a run: outcomes, levels, the exit code."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from typing import Any

from conformance.base.levels import LEVEL_VERDICTS, LEVELS, NOT_COMPARED, OUTCOMES


def totals(lines: Iterable[Mapping[str, Any]]) -> dict[str, int]:
    """How many programs had each outcome, every outcome named."""
    counted = Counter(line["outcome"] for line in lines)
    return {outcome: counted[outcome] for outcome in OUTCOMES}


def level_totals(lines: Iterable[Mapping[str, Any]]) -> dict[str, dict[str, int]]:
    """How many programs had each verdict at each level; programs not compared are in none."""
    counted: Counter[tuple[str, str]] = Counter()
    for line in lines:
        counted.update(line["levels"].items())
    return {
        level: {verdict: counted[level, verdict] for verdict in LEVEL_VERDICTS} for level in LEVELS
    }


def is_known(line: Mapping[str, Any]) -> bool:
    """Whether a program's divergence is on the list of known divergences."""
    return line["outcome"] == "diverges" and line["known"] is not None


def is_failing(line: Mapping[str, Any]) -> bool:
    """Whether a program diverges, and its divergence is not a known one."""
    return line["outcome"] == "diverges" and line["known"] is None


def exit_code(
    lines: Iterable[Mapping[str, Any]],
    stale: Iterable[str] = (),
    allowed: Collection[str] = (),
) -> int:
    """The exit code that a finished run with these programs has: 0, 1 or 3.

    ``stale`` are the known divergences that diverge no longer; any of them fails the run. Outcomes
    that are ``allowed`` do not make it incomplete, if anything was compared at all.
    """
    found = set()
    for line in lines:
        if is_failing(line):
            return 1
        found.add(line["outcome"])
    if any(True for _ in stale):
        return 1
    missing = found & set(NOT_COMPARED)
    compared = found - missing
    return 3 if missing - set(allowed) or (missing and not compared) else 0


def footer(
    lines: Iterable[Mapping[str, Any]], finished: str, exit: int, stale: Iterable[str] = ()
) -> dict[str, Any]:
    """The last line of a complete run over these programs."""
    lines = list(lines)
    return {
        "type": "footer",
        "finished": finished,
        "totals": totals(lines),
        "known": sum(1 for line in lines if is_known(line)),
        "stale": list(stale),
        "levels": level_totals(lines),
        "exit": exit,
    }
