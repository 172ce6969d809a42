"""Page of an examination of mutants: which mistakes the suite noticed, by area and kind."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from conformance.mutation.examine import BROKEN, BY_SAMPLE, BY_WHOLE, KILLED, OUTCOMES, SURVIVED
from conformance.mutation.run import SCHEMA
from reports.page import render
from reports.run import ReportError, save

WORDS = {
    KILLED: "by a rule",
    BY_SAMPLE: "by a sample",
    BY_WHOLE: "by a whole program",
    SURVIVED: "survived",
    BROKEN: "broken",
}
"""The outcomes as headings of columns."""

GOOD = (KILLED, BY_SAMPLE)


@dataclass(frozen=True)
class Row:
    """An area, or all of them: how many mutants it has, by kind, and how each kind ended."""

    area: str
    cells: Mapping[str, tuple[int, int]]
    """For each kind how many mutants were noticed, and how many there are."""
    outcomes: Mapping[str, int]
    helpful: int
    """How many first lines name the rule that was broken."""

    @property
    def mutants(self) -> int:
        return sum(self.outcomes.values())

    @property
    def noticed(self) -> int:
        """How many were noticed by a rule or a sample."""
        return sum(self.outcomes[outcome] for outcome in GOOD)


def rows(findings: Sequence[Mapping[str, Any]]) -> list[Row]:
    """One row for each area, by name."""
    areas = sorted({finding["area"] for finding in findings})
    return [_row(area, [f for f in findings if f["area"] == area]) for area in areas]


def _row(area: str, findings: Sequence[Mapping[str, Any]]) -> Row:
    outcomes = Counter(finding["outcome"] for finding in findings)
    kinds: dict[str, tuple[int, int]] = {}
    for finding in findings:
        noticed, every = kinds.get(finding["kind"], (0, 0))
        kinds[finding["kind"]] = noticed + (finding["outcome"] in GOOD), every + 1
    helpful = sum(finding["helpful"] == "names the rule" for finding in findings)
    return Row(area, kinds, {outcome: outcomes[outcome] for outcome in OUTCOMES}, helpful)


def page(document: Mapping[str, Any]) -> str:
    """The examination as one HTML document; raises ReportError for anything else."""
    findings = _checked(document)
    order = {outcome: i for i, outcome in enumerate((SURVIVED, BROKEN, BY_WHOLE))}
    return render(
        "mutants.html.j2",
        styles=("colours.css", "page.css", "summary.css", "narrow.css"),
        scripts=("theme.js", "frameworks.js"),
        document=document,
        rows=rows(findings),
        total=_row("all", findings),
        kinds=sorted({finding["kind"] for finding in findings}),
        findings=sorted(findings, key=lambda f: (order.get(f["outcome"], 9), f["area"])),
        words=WORDS,
        good=GOOD,
    )


def _checked(document: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    if not isinstance(document, Mapping) or document.get("schema") != SCHEMA:
        raise ReportError("not an examination of mutants of a schema that is known here.")
    findings: list[Mapping[str, Any]] = document["mutants"]
    for finding in findings:
        if finding.get("outcome") not in OUTCOMES:
            name, outcome = finding.get("mutant"), finding.get("outcome")
            raise ReportError(f"mutant {name}: unknown outcome {outcome!r}.")
    return findings


def write(document: Mapping[str, Any], path: str | os.PathLike[str]) -> Path:
    """Write the page to `path`; raises ReportError as `page`, and if it cannot be written."""
    return save(path, page(document))
