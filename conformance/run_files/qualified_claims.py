"""Qualified claims: for each level the widest claim that a run supports, with its exceptions.

A claim of a whole run falls with its first divergence. A narrower one may still hold: of the level
for some classes of programs, in some areas, or except for the known divergences, each of which has
a reason. Programs that are unsupported are counted in every claim.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from conformance.base.classes import CLASSES, CORE
from conformance.base.torch_versions import newest_first, ranges
from conformance.base.words import listed
from conformance.run_files.identity import torch_version
from conformance.run_files.totals import is_known

Line = Mapping[str, Any]

NARROWING = ("rules", "operators", "dtypes", "ids", "failed_in", "sample", "shard")
"""Criteria of a selection that leave only a part of an area: such a run speaks for no area."""


@dataclass(frozen=True)
class Claim:
    """A level, the oracle with its versions, and the exceptions.

    ``classes`` are those of the programs in which it holds, and ``areas`` theirs, each empty where
    it holds in all; ``other_areas`` are those in which it does not or that were left out, empty
    where only ``areas`` were run.
    """

    level: str
    oracle: str
    areas: tuple[str, ...] = ()
    other_areas: tuple[str, ...] = ()
    known: int = 0
    unsupported: int = 0
    classes: tuple[str, ...] = ()

    @property
    def terms(self) -> str:
        """The claim without its level: `torch 2.15, in ties and seeds, except 3 known divergences;
        13 unsupported`."""
        text = self.oracle
        if self.areas and 0 < len(self.other_areas) < len(self.areas):
            text += f", in all areas but {listed(self.other_areas)}"
        elif self.areas:
            text += f", in {listed(self.areas)}"
        if self.known:
            noun = "known divergence" if self.known == 1 else "known divergences"
            text += f", except {self.known:,} {noun}"
        return text + (f"; {self.unsupported:,} unsupported" if self.unsupported else "")


def qualified_claims(
    header: Mapping[str, Any],
    lines: Iterable[Line],
    whole: Mapping[str, Sequence[str]],
    oracle: str = "",
) -> list[Claim]:
    """The widest claims of a run with this header and these lines, one for each level that has any.

    ``whole`` has the levels that the run supports without exception, with the versions of torch
    (`conformance.history.claims`). ``oracle`` names one that is not torch; without it nothing is
    claimed then. A run of a part of an area claims nothing.
    """
    selection = header["selection"]
    if any(selection.get(name) for name in NARROWING):
        return []
    own = torch_version(header)
    if own is not None:
        oracle = f"torch {own}"
    by_area: dict[str, list[Line]] = {}
    for line in lines:
        by_area.setdefault(line["area"], []).append(line)
    found = []
    left_out = [area for area in selection.get("without") or () if area not in by_area]
    for level in selection["levels"] if oracle else ():
        if claim := _claim(level, by_area, oracle, bool(selection.get("classes"))):
            claim = _restricted(claim, list(by_area), left_out, bool(selection.get("areas")))
            if versions := whole.get(level):
                claim = replace(claim, oracle=torch(versions))
            found.append(claim)
    return found


def torch(versions: Iterable[str]) -> str:
    """Versions of torch in a claim: `torch 2.15; also 2.13 to 2.14`."""
    newest, *others = newest_first(versions)
    return f"torch {newest}" + (f"; also {ranges(others)}" if others else "")


def texts(found: Iterable[Claim]) -> list[str]:
    """The claims in words, levels of the same terms together: `values and graph, torch 2.15`, or
    `core and complex, values, torch 2.15`."""
    grouped: dict[tuple[str, str], list[str]] = {}
    for claim in found:
        of = f"{listed(claim.classes)}, " if claim.classes else ""
        grouped.setdefault((of, claim.terms), []).append(claim.level)
    return [f"{of}{listed(levels)}, {terms}" for (of, terms), levels in grouped.items()]


def _claim(
    level: str, by_area: Mapping[str, Sequence[Line]], oracle: str, few: bool
) -> Claim | None:
    """The claim for classes of programs if the core holds, or else for areas; ``few`` says that
    only programs of some classes were run, which speak for no area as a whole."""
    lines = [line for of_area in by_area.values() for line in of_area]
    classes = _classes(level, lines, few)
    if classes is None:
        return None if few else _claim_of_areas(level, by_area, oracle)
    meant = [line for line in lines if not classes or _is_within(line, classes)]
    return _counted(Claim(level, oracle, classes=classes), meant)


def _counted(claim: Claim, lines: Sequence[Line]) -> Claim:
    """The claim with the exceptions among the lines that it is about."""
    known = sum(is_known(line) and line["levels"].get(claim.level) == "diverges" for line in lines)
    unsupported = sum(line["outcome"] == "unsupported" for line in lines)
    return replace(claim, known=known, unsupported=unsupported)


def _classes(level: str, lines: Sequence[Line], few: bool) -> tuple[str, ...] | None:
    """The classes for which the level holds: empty for all, if not only ``few`` were run, and None
    where that of the core does not.

    A class holds if none of its programs speaks against the level, and something of it was
    compared, together with those before it.
    """
    found: tuple[str, ...] = ()
    present = [name for name in CLASSES if any(name in _needed(line) for line in lines)]
    for name in present:
        inside = [line for line in lines if _is_within(line, (*found, name))]
        compared = _is_compared(level, (line for line in inside if name in _needed(line)))
        if compared and all(_allows(level, line) for line in inside):
            found = (*found, name)
    if len(found) == len(present) and not few:
        return ()
    return found if CORE in found else None


def _needed(line: Line) -> Sequence[str]:
    """The classes of a program: the core alone, where it needs nothing else."""
    return line.get("classes") or (CORE,)


def _is_within(line: Line, classes: Sequence[str]) -> bool:
    return set(_needed(line)) <= {CORE, *classes}


def _claim_of_areas(level: str, by_area: Mapping[str, Sequence[Line]], oracle: str) -> Claim | None:
    silent = {area for area, lines in by_area.items() if not _is_compared(level, lines)}
    holding = [
        area
        for area, lines in by_area.items()
        if area not in silent and all(_allows(level, line) for line in lines)
    ]
    if not holding:
        return None
    others = [area for area in by_area if area not in silent and area not in holding]
    # A claim of all areas counts the unsupported programs of areas without a compared one, too.
    meant = [line for area in (holding if others else by_area) for line in by_area[area]]
    areas = tuple(holding) if others else ()
    return _counted(Claim(level, oracle, areas, tuple(others)), meant)


def _restricted(claim: Claim, run: Sequence[str], left_out: Sequence[str], few: bool) -> Claim:
    """The claim for the areas that were run: ``few`` of the suite's, or all but those left out."""
    if few:
        return replace(claim, areas=claim.areas or tuple(run), other_areas=())
    if left_out:
        others = (*claim.other_areas, *left_out)
        return replace(claim, areas=claim.areas or tuple(run), other_areas=others)
    return claim


def _is_compared(level: str, lines: Iterable[Line]) -> bool:
    """Whether something was compared at the level, or was to be and failed."""
    return any(
        line["outcome"] in ("error", "not_run")
        or line["levels"].get(level, "not_applicable") != "not_applicable"
        for line in lines
    )


def _allows(level: str, line: Line) -> bool:
    """Whether a line does not speak against the level."""
    if line["outcome"] in ("error", "not_run"):
        return False
    verdict = line["levels"].get(level)
    return verdict != "other_version" and (verdict != "diverges" or is_known(line))
