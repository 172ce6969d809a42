"""Causes in a terminal: what differs, in how many programs, and the program that shows it best."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from conformance.output.display import cut, pair, where
from conformance.run_files.categories import topic
from conformance.run_files.causes import Cause
from conformance.run_files.shown import told_lines
from conformance.settings.settings import Settings, command

SHOWN = 10
"""Causes that are shown; the rest is counted."""

WITH_PROGRAM = 3
"""Causes whose program is printed."""

_LONGEST = 12
"""Lines of a program that are printed; of a longer one those before the divergence."""


def cause_lines(found: Sequence[Cause], settings: Settings) -> Iterator[str]:
    """Yield the lines that tell the causes in their order; none for no causes."""
    if not found:
        return
    programs = sum(len(cause.lines) for cause in found)
    heads = "1 cause" if len(found) == 1 else f"{len(found):,} causes"
    order = ", those that contradict most comments first:" if found[1:] else ":"
    yield f"{heads} of {programs:,} divergences{order}"
    for number, cause in enumerate(found[:SHOWN], 1):
        yield from _told(number, cause, settings, number <= WITH_PROGRAM)
    if rest := found[SHOWN:]:
        left = sum(len(cause.lines) for cause in rest)
        yield f"... and {len(rest):,} more causes of {left:,} divergences (in the run's report)"


def _told(number: int, cause: Cause, settings: Settings, program: bool) -> Iterator[str]:
    line = cause.shown
    level = cause.difference.level
    areas = ", ".join(f"{area} {n:,}" for area, n in list(cause.areas.items())[:4])
    more = ", ..." if len(cause.areas) > 4 else ""
    yield f"{number}. {len(cause.lines):,} x {level}: {cut(cause.words)} ({areas}{more})"
    if line["sentence"]:
        yield f"   {topic(line)}: {cut(line['sentence'])}"
    if cause.follows:
        yield f"   it follows another convention: {cut(cause.follows, 100)}"
    if program:
        yield from (f"     {number or '':>3} | {text}" for number, text in excerpt(cause))
    if cause.place is not None:
        _, first = cause.place
        expected, got = pair(first["expected"], first["got"], 60)
        yield f"   line {first['line']}, {where(first)}: expected {expected}, got {got}"
    yield f"   {command(settings, line['id'])}"


def sliced(cause: Cause) -> list[tuple[int, str]]:
    """The program that shows a cause: the first statement that diverges, and the statements before
    it that it may depend on. Lines that are not empty, with their numbers."""
    return told_lines(cause.shown, cause.place and cause.place[1])


def excerpt(cause: Cause) -> list[tuple[int | None, str]]:
    """The program that shows a cause (`sliced`), its lines cut; of a long one the beginning is left
    out, for which a line without a number stands."""
    lines: list[tuple[int | None, str]] = [(n, cut(text, 100)) for n, text in sliced(cause)]
    return lines if len(lines) <= _LONGEST else [(None, "..."), *lines[1 - _LONGEST :]]
