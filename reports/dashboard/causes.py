"""Causes on the dashboard: of what diverges now, and of what changed since the run before."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from conformance.run_files.causes import order_of
from reports.dashboard.archive import ArchivedRun
from reports.dashboard.digest import Caused
from reports.text import areas, visible


@dataclass(frozen=True)
class Group:
    """Programs with one cause: `ids` of those meant, and the cause with all of its programs.

    `run` is the run that shows it; `is_new` is whether the run before had no program with it.
    """

    cause: Caused
    ids: list[str]
    run: ArchivedRun
    areas: str
    is_new: bool = False


def groups(run: ArchivedRun, ids: Iterable[str], before: ArchivedRun | None = None) -> list[Group]:
    """These diverging programs of a run by cause, in the order of causes (`order_of`)."""
    meant = set(ids)
    known = {cause.shown.key for cause in before.digest.causes} if before else set()
    found = []
    for cause in run.digest.causes:
        within = {
            area: [name for name in names if name in meant] for area, names in cause.members.items()
        }
        numbers = {area: len(names) for area, names in within.items() if names}
        if numbers:
            is_new = before is not None and cause.shown.key not in known
            names = [name for names in within.values() for name in names]
            found.append(Group(cause, names, run, _areas(numbers), is_new))
    return sorted(found, key=_order)


def current_groups(runs: Mapping[str, ArchivedRun]) -> list[Group]:
    """The divergences in the runs that are selected for these areas, by cause."""
    found = []
    for run in dict.fromkeys(runs.values()):
        speaking = {area for area, other in runs.items() if other is run}
        members = (
            name
            for cause in run.digest.causes
            for area, names in cause.members.items()
            if area in speaking
            for name in names
        )
        found += groups(run, members)
    return sorted(found, key=_order)


def _order(group: Group) -> tuple[int, int]:
    silent = len(set(group.ids).intersection(group.cause.silent))
    return order_of(len(group.ids), len(group.ids) - silent)


def _areas(numbers: Mapping[str, int]) -> str:
    return visible(areas(dict(sorted(numbers.items(), key=lambda item: -item[1])), most=4))
