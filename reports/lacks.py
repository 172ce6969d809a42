"""Missing operations: the reasons for which programs are unsupported, with their numbers."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from conformance.run_files.causes import reasons
from conformance.run_files.run import Run
from reports.text import areas, visible

OPEN = 12
"""Reasons that are shown at once; further ones are folded."""


@dataclass(frozen=True)
class Lack:
    """One reason as text, the number of its programs, and the ID of the first of them."""

    reason: str
    number: int
    areas: str
    program: str


def lacks(run: Run) -> list[Lack]:
    """The reasons, those of most programs first."""
    return [
        Lack(
            visible(reason),
            len(lines),
            visible(areas(dict(Counter(line["area"] for line in lines).most_common()))),
            lines[0]["id"],
        )
        for reason, lines in reasons(run.programs, "unsupported")
    ]
