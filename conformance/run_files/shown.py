"""The program that shows a cause best, of those that diverge in the same way.

A mistake shows in programs of the rules that it breaks, and of rules that only need these. As in
spectrum-based fault localisation, tests that pass and tests that fail tell which is which: a broken
rule has few programs that conform, and its chapter more than one that has the cause. Of rules that
these numbers do not tell apart the first in the specification is shown, where basic rules come
before those that need them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from conformance.base.levels import LEVELS
from conformance.compare.differences import earliest
from conformance.program.slices import slice_lines

Line = Mapping[str, Any]

FINDINGS = "findings"
"""The area of the chapter whose rules are single observations of the fuzzer."""

SHORT = 8
"""Lines of a program, beside the import of torch, that are read at a glance."""

SLICED = 12
"""Programs of a cause whose length is looked at, at most: finding it needs their syntax."""

MOSTLY = 0.75
"""Share of a rule's programs that diverge, from which on the rule is a likely one."""


def first_divergence(
    line: Line, levels: Sequence[str] = LEVELS
) -> tuple[str, Mapping[str, Any]] | None:
    """The level and the divergence of the first statement that diverges at one of these levels, or
    where none does at any; None where only a comment is not met."""
    return earliest(line["divergences"], levels) or earliest(line["divergences"], LEVELS)


def told_lines(line: Line, first: Mapping[str, Any] | None) -> list[tuple[int, str]]:
    """The program of a line up to a divergence: the statement that diverges, and those before it
    that it may depend on. Lines that are not empty, with their numbers; all without a divergence.
    """
    source = line["source"].rstrip("\n")
    numbered = [(number, text) for number, text in enumerate(source.split("\n"), 1) if text.strip()]
    if first is None or not first["line"]:
        return numbered
    chosen = slice_lines(source, first["line"], first["name"])
    return [(number, text) for number, text in numbered if number in chosen]


def length(line: Line, levels: Sequence[str] = LEVELS) -> int:
    """The number of lines in which a program is told, beside the import of torch."""
    first = first_divergence(line, levels)
    return sum(text != "import torch" for _, text in told_lines(line, first and first[1]))


def best(
    group: Sequence[Line], diverging: Mapping[str | None, float], levels: Sequence[str] = LEVELS
) -> Line:
    """The line of a cause that shows it best; `diverging` are the shares of each rule's programs
    that diverge in the run. It is the first in the suite's order of those that

    - are of a rule: findings and samples say less than a chapter does;
    - contradict a comment of the program: elsewhere the rule is about something else;
    - are told in SHORT lines, which is asked of the SLICED likeliest;
    - are of a chapter of which another program has the cause;
    - are of a rule of which most programs diverge, be it in another way,

    where an earlier condition counts for more.
    """
    classes = [
        (line["rule"] is None, line["area"] == FINDINGS, not line.get("contradicted"))
        for line in group
    ]
    foremost = min(classes)
    areas = Counter(line["area"] for line in group)

    def rank(position: int) -> tuple[bool, bool, int]:
        area, rule = group[position]["area"], group[position]["rule"]
        return areas[area] == 1, diverging[rule] < MOSTLY, position

    chosen = [position for position, found in enumerate(classes) if found == foremost]
    likeliest = [group[position] for position in sorted(chosen, key=rank)]
    short = (line for line in likeliest[:SLICED] if length(line, levels) <= SHORT)
    return likeliest[0] if len(likeliest) == 1 else next(short, likeliest[0])
