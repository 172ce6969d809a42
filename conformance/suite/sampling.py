"""Samples: a part of the selected programs that has something of each operator and each kind."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable

from conformance.program.program import Program


def sampled(programs: Iterable[Program], size: int, seed: int = 0) -> list[Program]:
    """``size`` of the programs, in the order in which they are drawn; all of them if fewer.

    The strata, which are the operators, the rules, and for other programs the areas, take turns;
    each gives the program whose kind was drawn least often so far, then the one whose dtype was.
    So the first of a sample are a stratified sample, too, and a larger sample of the same seed
    begins with a smaller one. A hash of the seed and the ID decides between equals.
    """
    strata: dict[tuple[str, str], list[Program]] = {}
    for program in programs:
        strata.setdefault(_stratum(program), []).append(program)
    turns = sorted(strata, key=lambda stratum: _drawn("/".join(stratum), seed))
    drawn: list[Program] = []
    kinds: Counter[str] = Counter()
    dtypes: Counter[str | None] = Counter()

    def rank(program: Program) -> tuple[int, int, bytes]:
        return kinds[_kind(program)], dtypes[program.dtype], _drawn(program.id, seed)

    while strata and len(drawn) < size:
        for stratum in turns[: size - len(drawn)]:
            program = min(strata[stratum], key=rank)
            strata[stratum].remove(program)
            kinds[_kind(program)] += 1
            dtypes[program.dtype] += 1
            drawn.append(program)
        strata = {stratum: left for stratum, left in strata.items() if left}
        turns = [stratum for stratum in turns if stratum in strata]
    return drawn


def _stratum(program: Program) -> tuple[str, str]:
    return program.area, program.operator or program.rule or ""


def _kind(program: Program) -> str:
    """The kind of a program: its ID without operator, dtype and numbers."""
    parts = program.id.split("/")
    named = (program.operator, program.dtype)
    return "/".join(part for part in parts if part not in named and not part.isdecimal())


def _drawn(text: str, seed: int) -> bytes:
    return hashlib.blake2b(f"{seed}:{text}".encode(), digest_size=8).digest()
