"""Comparison table of conventions: the gradients of several libraries at ties and kinks."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from conformance.run_files.identity import called
from conformance.run_files.run import Run
from reports.conventions import conventions
from reports.page import render
from reports.run import ReportError, save
from reports.text import visible

LACKS = "—"
"""Cell text for a missing operator of the library, or a missing program of the run."""


@dataclass(frozen=True)
class Row:
    """A tie or kink: the oracle's convention, and each backend's in the order of the runs.

    `versions` are, for each backend, those of torch that it follows instead of the oracle, or "".
    """

    operator: str
    situation: str
    oracle: str
    backends: tuple[str, ...]
    versions: tuple[str, ...]

    def cells(self) -> list[tuple[str, str, bool]]:
        """For each backend its convention, the versions that it follows, and whether it differs."""
        pairs = zip(self.backends, self.versions, strict=True)
        return [
            (found, versions, found not in (self.oracle, LACKS) and not versions)
            for found, versions in pairs
        ]

    @property
    def differs(self) -> bool:
        """Whether the convention of any backend differs from the oracle's, in every version."""
        return any(differs for _, _, differs in self.cells())


@dataclass(frozen=True)
class Table:
    """The conventions of several backends against one oracle."""

    oracle: str
    backends: tuple[str, ...]
    rows: tuple[Row, ...]


def table(runs: Sequence[Run]) -> Table:
    """The table of these runs.

    Raises ReportError if no run has a convention, or if the runs have different oracles.
    """
    oracles = {_named(run, "oracle") for run in runs}
    if len(oracles) != 1:
        raise ReportError(f"the runs have different oracles: {', '.join(sorted(oracles))}.")
    found = [
        {(shown.operator, shown.situation): shown for shown in conventions(run.programs)}
        for run in runs
    ]
    unsupported = [
        {line["id"] for line in run.programs if line["outcome"] == "unsupported"} for run in runs
    ]
    every = {key: shown.oracle for of_run in found for key, shown in of_run.items()}
    if not every:
        raise ReportError("none of the runs has a convention: run the area `conventions`.")
    rows = []
    for key, oracle in sorted(every.items()):
        cells, versions = [], []
        for of_run, lacking in zip(found, unsupported, strict=True):
            shown = of_run.get(key)
            if shown is None or shown.program in lacking:
                cells.append(LACKS)
                versions.append("")
            else:
                cells.append(shown.backend or "raises")
                versions.append((shown.versions or "") if shown.is_other else "")
        rows.append(Row(*key, oracle or "raises", tuple(cells), tuple(versions)))
    names = tuple(_named(run, "backend") for run in runs)
    return Table(oracles.pop(), names, tuple(rows))


def _named(run: Run, side: str) -> str:
    """Name and version of a side; an adapter of `frameworks` has the name of its library."""
    known = run.header[side]
    name = called(known)
    if name.startswith("frameworks."):
        name = name.removeprefix("frameworks.").partition(":")[0]
    return f"{name} {known.get('version') or ''}".strip()


def markdown(shown: Table) -> str:
    """The table in Markdown: differences in bold, conventions of other versions named so."""
    head = ["operator", "where", *map(_cell, (shown.oracle, *shown.backends))]
    lines = [head, ["---"] * len(head)]
    for row in shown.rows:
        cells = []
        for found, versions, differs in row.cells():
            text = f"**{_cell(found)}**" if differs else _cell(found)
            cells.append(f"{text} (torch {_cell(versions)})" if versions else text)
        lines.append([_cell(row.operator), _cell(row.situation), _cell(row.oracle), *cells])
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def _cell(text: str) -> str:
    return visible(text).replace("|", "\\|").replace("*", "\\*").replace("_", "\\_")


def page(shown: Table) -> str:
    """The table as one HTML document."""
    return render(
        "frameworks.html.j2",
        styles=("colours.css", "page.css", "summary.css", "narrow.css"),
        scripts=("theme.js", "frameworks.js"),
        table=shown,
        lacks=LACKS,
    )


def write(runs: Sequence[Run], path: str | os.PathLike[str]) -> Path:
    """Write the table of these runs to `path`: Markdown for a name ending in `.md`, otherwise HTML.

    Raises ReportError as `table` does, and if the file cannot be written.
    """
    shown = table(runs)
    text = markdown(shown) if Path(path).suffix == ".md" else page(shown)
    return save(path, text)
