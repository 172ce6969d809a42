"""The program that shows a cause best, of those that diverge in the same way.

A mistake shows in programs of the rules that it breaks, and of rules that only need these. A rule
is likelier a broken one if the backend contradicts many comments of its programs, if few of its
programs lack the cause, and if it is early in the specification, where basic rules come before
those that need them. Spectrum-based fault localisation ranks statements by such numbers of failing
and passing tests. The weights of the properties were fitted to mutants of the catalogue.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
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


@dataclass(frozen=True)
class Weights:
    """The weights of the properties of a program; `benchmarks/causes.py` measures their worth.

    `comments` is for the logarithm of the number of comments that the backend contradicts in the
    programs of the rule; `share` for that of the part of the rule's programs that have the cause;
    `late` for the place of the rule among those of the cause, from 0 to 1; `short` for a program
    that is told in SHORT lines; `abbreviated` for a comment that has only the beginning of an
    error's message, as is usual where a rule is about something else.
    """

    comments: float = 2.5
    share: float = 0.5
    late: float = -2.5
    short: float = 3.5
    abbreviated: float = -1.0


WEIGHTS = Weights()


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
    group: Sequence[Line],
    examples: Mapping[str | None, int],
    levels: Sequence[str] = LEVELS,
    weights: Weights = WEIGHTS,
) -> Line:
    """The line of a cause that shows it best, the earlier one of equals; `examples` are the numbers
    of programs of each rule in the run.

    One of a rule comes first: findings and samples say less than a chapter does. Then one that
    contradicts a comment of its program: elsewhere the rule is about something else. Among these
    the weights decide.
    """
    classes = [
        (line["rule"] is None, line["area"] == FINDINGS, not line.get("contradicted"))
        for line in group
    ]
    foremost = min(classes)
    ruled = [line for line in group if line["rule"] is not None]
    of_rules = _likelihoods(ruled, examples, weights)
    scores = {
        position: of_rules.get(line["rule"], 0.0) + weights.abbreviated * _is_abbreviated(line)
        for position, line in enumerate(group)
        if classes[position] == foremost
    }
    likeliest = sorted(scores, key=lambda position: (-scores[position], position))
    first = likeliest[0]
    for position in likeliest[:SLICED]:
        if scores[position] + weights.short < scores[first]:
            break
        if length(group[position], levels) <= SHORT:
            return group[position]
    return group[first]


def _likelihoods(
    ruled: Sequence[Line], examples: Mapping[str | None, int], weights: Weights
) -> dict[str, float]:
    """For each rule of a cause's programs how likely it is a broken one, as a logarithm."""
    programs: Counter[str] = Counter()
    comments: Counter[str] = Counter()
    begins: dict[str, int] = {}
    for position, line in enumerate(ruled):
        rule = line["rule"]
        begins.setdefault(rule, position)
        programs[rule] += 1
        comments[rule] += len(line.get("contradicted") or ())
    return {
        rule: weights.comments * math.log1p(comments[rule])
        + weights.share * math.log(programs[rule] / examples[rule])
        + weights.late * begins[rule] / len(ruled)
        for rule in programs
    }


def _is_abbreviated(line: Line) -> bool:
    """Whether the first comment that is contradicted has an error's message up to an ellipsis."""
    contradicted = line.get("contradicted")
    if not contradicted:
        return False
    text = line["source"].split("\n")[contradicted[0] - 1]
    return "# raises " in text and text.rstrip().endswith("...")
