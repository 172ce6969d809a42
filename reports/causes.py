"""The causes of a run's divergences for its page: each with the program that shows it best."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from conformance.output.causes import excerpt
from conformance.run_files.categories import topic
from conformance.run_files.causes import Cause
from reports.attention import place, sides
from reports.rules import chapter_page
from reports.text import areas, count, visible

OPEN = 5
"""Causes that are shown with their program; further ones are folded."""


@dataclass(frozen=True)
class Shown:
    """One cause as text: `number` programs diverge; `program` is the ID of the one shown, and
    `chapter` the place of its rule in a site of the specification (`chapter_page`).

    `lines` are those of its lines that the divergence may depend on, each with its number and
    whether it diverges.
    """

    key: str
    level: str
    words: str
    number: int
    areas: str
    program: str
    rule: str
    sentence: str
    lines: list[tuple[str, str, bool]]
    where: str
    expected: str
    got: str
    follows: str
    chapter: str


def shown(cause: Cause) -> Shown:
    """A cause as text."""
    line = cause.shown
    where = expected = got = ""
    at = cause.place[1]["line"] if cause.place else None
    if cause.place is not None:
        where = place(*cause.place)
        expected, got = sides(cause.place[1])
    elif line["specification"]:
        failed = line["specification"][0]
        where, expected, got = f"line {failed['line']}", str(failed["expected"]), str(failed["got"])
    return Shown(
        key=cause.key,
        level=cause.difference.level,
        words=visible(cause.words),
        number=len(cause.lines),
        areas=visible(areas(cause.areas)),
        program=line["id"],
        rule=visible(topic(line)),
        sentence=visible(line["sentence"] or ""),
        lines=[
            (str(number or ""), visible(text), bool(at and number and number >= at))
            for number, text in excerpt(cause)
        ],
        where=visible(where),
        expected=visible(expected),
        got=visible(got),
        follows=visible(cause.follows or ""),
        chapter=chapter_page(line),
    )


def title(found: Sequence[Cause]) -> str:
    """The heading: `3 causes of 1,551 divergences`."""
    programs = sum(len(cause.lines) for cause in found)
    return f"{count(len(found), 'cause')} of {count(programs, 'divergence')}"
