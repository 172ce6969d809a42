"""The badges of a configuration: its status at each level."""

from __future__ import annotations

from conformance.base.levels import LEVELS, NOT_COMPARED
from conformance.run_files.qualified_claims import torch
from reports.badge import Badge, badge
from reports.dashboard.archive import ArchivedRun
from reports.dashboard.charts import COMPARED
from reports.dashboard.overview import Current


def badges(state: Current) -> list[Badge]:
    """The badges of a configuration: one for each level."""
    made = []
    for level in LEVELS:
        message, colour = _said(level, state)
        made.append(
            badge(f"{state.configuration.slug}-{level}", state.name, level, message, colour)
        )
    return made


def claimed(state: Current, level: str) -> list[str]:
    """The versions of torch for which every run that speaks for an area supports the level."""
    found = [
        set(run.digest.claims.get(level, ()))
        for run in state.newest
        if _has_compared(run, LEVELS.index(level))
    ]
    return list(set.intersection(*found)) if found else []


def _has_compared(run: ArchivedRun, place: int) -> bool:
    return any(standing.levels[place] in COMPARED for standing in run.digest.standings)


def _said(level: str, state: Current) -> tuple[str, str]:
    ended = state.total.levels[level]
    missing = sum(state.total.categories[kind] for kind in NOT_COMPARED)
    apart = f", {missing:,} not compared" if missing else ""
    if ended["diverges"]:
        return f"{level}: {ended['diverges']:,} diverge{apart}", "diverges"
    if ended["known"]:
        return f"{level}: {ended['known']:,} known{apart}", "known"
    if versions := claimed(state, level):
        return f"{level}, {torch(versions)}{apart}", "none" if missing else "conforms"
    if ended["other_version"]:
        return f"{level}: {ended['other_version']:,} as another version{apart}", "other_version"
    if ended["conforms"]:
        return f"{level}: conforms{apart}", "none" if missing else "conforms"
    if ended["not_applicable"]:
        return f"{level}: not applicable{apart}", "none"
    return f"{level}: nothing compared", "none"
