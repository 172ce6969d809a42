"""Changes between two runs, program by program: added, removed, changed, unchanged."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from conformance.base.levels import LEVELS, NOT_COMPARED
from conformance.run_files.categories import category

KINDS = ("diverges", "lost", "other_version", "conforms", "otherwise")
"""The kinds of change of a program: it diverges now, it is no longer compared, it shows another
version of torch than the oracle now, it conforms now, or it stands otherwise than before (another
level, another first divergence, now known)."""

AT_FAULT = ("diverges", "specification")
"""Categories of programs on which one of the sides is wrong."""


class Standing(NamedTuple):
    """The standing of one program in one run: equal standings mean that nothing changed."""

    category: str
    levels: tuple[str | None, ...]
    """The verdict at each of LEVELS; None where nothing was compared."""
    detail: tuple[str, ...] = ()
    """The texts in which divergences of the same levels differ."""


@dataclass(frozen=True)
class Change:
    """One program that stands otherwise than before."""

    id: str
    before: Standing
    after: Standing

    @property
    def kind(self) -> str:
        """One of KINDS. Not to be compared is neither better nor worse than to diverge."""
        before, after = self.before.category, self.after.category
        if after in AT_FAULT and before not in AT_FAULT:
            return "diverges"
        if after in NOT_COMPARED and before not in NOT_COMPARED:
            return "lost"
        if after in ("other_version", "conforms") and before != after:
            return after
        return "otherwise"


@dataclass(frozen=True)
class Changes:
    """The programs that two runs share or not, by ID, in the runs' order."""

    added: list[str]
    removed: list[str]
    changed: list[Change]
    unchanged: list[str]

    def of_kind(self, kind: str) -> list[Change]:
        """The changed programs of one of KINDS."""
        return [change for change in self.changed if change.kind == kind]


def standing(line: Mapping[str, Any]) -> Standing:
    """How the program of a run file's line stands; its times and ULP errors do not count."""
    ended = category(line)
    if ended == "conforms":
        return Standing(ended, levels(line))
    differs = [line["divergences"], line["specification"], line["reason"], line["known"]]
    differs += [line["versions"]] if ended == "other_version" else []
    return Standing(ended, levels(line), tuple(json.dumps(part) for part in differs))


def levels(line: Mapping[str, Any]) -> tuple[str | None, ...]:
    """The verdict at each of LEVELS; None where nothing was compared."""
    if line["outcome"] in NOT_COMPARED:
        return (None,) * len(LEVELS)
    return tuple(line["levels"].get(level) for level in LEVELS)


def standings(lines: Iterable[Mapping[str, Any]]) -> dict[str, Standing]:
    """How each program of a run stands, by its ID, in the run's order."""
    return {line["id"]: standing(line) for line in lines}


def changes(before: Mapping[str, Standing], after: Mapping[str, Standing]) -> Changes:
    """Compare two runs by the standings of their programs."""
    both = [name for name in after if name in before]
    changed = [name for name in both if before[name] != after[name]]
    different = set(changed)
    return Changes(
        added=[name for name in after if name not in before],
        removed=[name for name in before if name not in after],
        changed=[Change(name, before[name], after[name]) for name in changed],
        unchanged=[name for name in both if name not in different],
    )
