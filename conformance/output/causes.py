"""Causes in a terminal: what differs, in how many programs, and the program that shows it best."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from conformance.output.display import cut, pair, where
from conformance.program.operations import statement_at
from conformance.run_files.categories import topic
from conformance.run_files.causes import Cause
from conformance.settings.settings import Settings, command

SHOWN = 10
"""Causes that are shown; the rest is counted."""

WITH_PROGRAM = 3
"""Causes whose program is printed."""

_LONGEST = 12
"""Lines of a program that are printed; of a longer one those before the divergence."""


def cause_lines(found: Sequence[Cause], settings: Settings) -> Iterator[str]:
    """Yield the lines that tell the causes, the largest first; none for no causes."""
    if not found:
        return
    programs = sum(len(cause.lines) for cause in found)
    heads = "1 cause" if len(found) == 1 else f"{len(found):,} causes"
    yield f"{heads} of {programs:,} divergences" + (", the largest first:" if found[1:] else ":")
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


def excerpt(cause: Cause) -> list[tuple[int | None, str]]:
    """The program that shows a cause, up to the end of the first statement that diverges: lines
    that are not empty, with their numbers.

    Of a long one the beginning is left out, for which a line without a number stands.
    """
    source = cause.shown["source"].rstrip("\n").split("\n")
    at = cause.place[1]["line"] if cause.place else None
    end = at - 1 + len(statement_at(source, at)) if at else len(source)
    lines: list[tuple[int | None, str]] = [
        (number, cut(text, 100)) for number, text in enumerate(source[:end], 1) if text.strip()
    ]
    return lines if len(lines) <= _LONGEST else [(None, "..."), *lines[1 - _LONGEST :]]
