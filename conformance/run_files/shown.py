"""The program that shows a cause best, of those that diverge in the same way.

A mistake shows in programs of the rules that it breaks, and of rules that only need these. As in
spectrum-based fault localisation, tests that pass and tests that fail tell which is which: a broken
rule has few programs that conform, and its chapter more than one that has the cause. And a program
of a rule that only needs the broken one has more in it than the mistake needs: it uses more words.
Of rules that this does not tell apart the first in the specification is shown, where basic rules
come before those that need them.
"""

from __future__ import annotations

import keyword
import re
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

SLICED = 32
"""Programs of a cause that are looked at, at most: what tells one needs its syntax."""

PLAIN = 1.5
"""Words of a program, against those of the one with fewest, up to which it is about as plain."""

PART = 0.1
"""Share of the programs of the foremost chapter, from which on a chapter is a likely one."""

MOSTLY = 0.75
"""Share of a rule's programs that diverge, from which on the rule is a likely one."""

_BESIDE = re.compile(r"'[^']*'|\"[^\"]*\"|#.*")
"""Texts and comments, whose words are no part of the code."""

_WORD = re.compile(r"[A-Za-z_]\w+")


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


def words(line: Line, levels: Sequence[str] = LEVELS) -> frozenset[str]:
    """The different names in the code of a program as it is told, without those of one letter: its
    own tensors have such names."""
    first = first_divergence(line, levels)
    code = "\n".join(text for _, text in told_lines(line, first and first[1]))
    return frozenset(_WORD.findall(_BESIDE.sub("", code))).difference(keyword.kwlist)


def best(
    group: Sequence[Line], diverging: Mapping[str | None, float], levels: Sequence[str] = LEVELS
) -> Line:
    """The line of a cause that shows it best; `diverging` are the shares of each rule's programs
    that diverge in the run. It is the first in the suite's order of those that

    - are of a rule: findings and samples say less than a chapter does;
    - contradict a comment of the program: elsewhere the rule is about something else;
    - are told in SHORT lines;
    - are PLAIN: use few words more than the one of these that uses fewest;
    - are of a chapter with another program that has the cause, and with at least PART as many of
      them as any other chapter;
    - are of a rule of which most programs diverge, be it in another way,

    where an earlier condition counts for more. Of the programs that meet the first two SLICED are
    looked at, those first that meet the last two.
    """
    classes = [
        (line["rule"] is None, line["area"] == FINDINGS, not line.get("contradicted"))
        for line in group
    ]
    foremost = min(classes)
    areas = Counter(line["area"] for line in group if line["rule"])
    enough = max(2, PART * max(areas.values(), default=0))

    def rank(position: int) -> tuple[bool, bool, int]:
        area, rule = group[position]["area"], group[position]["rule"]
        return areas[area] < enough, diverging[rule] < MOSTLY, position

    chosen = [position for position, found in enumerate(classes) if found == foremost]
    likeliest = [group[position] for position in sorted(chosen, key=rank)][:SLICED]
    if len(likeliest) == 1:
        return likeliest[0]
    short = [line for line in likeliest if length(line, levels) <= SHORT] or likeliest
    used = [len(words(line, levels)) for line in short]
    return next(
        line for line, number in zip(short, used, strict=True) if number <= PLAIN * min(used)
    )
