"""The report of one run: one HTML file that opens from disk and shows every program."""

from __future__ import annotations

import os
from pathlib import Path

from conformance.base.levels import LEVELS, NOT_COMPARED, OUTCOMES
from conformance.base.outputs import OutputError, write_text, writing
from conformance.run_files.categories import CATEGORIES
from conformance.run_files.causes import causes
from conformance.run_files.run import Run
from conformance.run_files.times import times
from conformance.sweep.tally import COLUMNS
from reports.categories import SYMBOLS, WORDS
from reports.causes import OPEN, shown, title
from reports.conventions import conventions
from reports.heat import areas, operators
from reports.lacks import OPEN as OPEN_LACKS
from reports.lacks import lacks
from reports.landings import landings
from reports.page import DRAWING_SCRIPTS, DRAWING_STYLES, STYLES, render
from reports.payload import payload
from reports.rules import prose, spec_site
from reports.summary import summary
from reports.sweep import WORDS as COLUMN_WORDS
from reports.sweep import sweep_summary
from reports.versions import groups, since

STATIC_FAILURES = 2000
"""Failures that a page lists for readers without JavaScript; a limit on the size of the page."""

SCRIPTS = (
    "text.js",
    "verdicts.js",
    "python.js",
    "unpack.js",
    "decode.js",
    "values.js",
    "address.js",
    "filter.js",
    "paged.js",
    "rows.js",
    "list.js",
    "steps.js",
    "align.js",
    "trace.js",
    *DRAWING_SCRIPTS,
    "program.js",
    "issue.js",
    "keys.js",
    "theme.js",
    "main.js",
)


class ReportError(Exception):
    """A report cannot be made of this run; the message names the faulty program or part."""


def write(run: Run, path: str | os.PathLike[str]) -> Path:
    """Write the report of `run` to `path`, atomically, and return the path.

    An interrupted `run` (without a footer) is reported as interrupted. Raises ReportError if the
    run cannot be shown or the file cannot be written; a former file at `path` then stays.
    """
    _check(run)
    try:
        text = page(run)
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        raise ReportError(
            f"the run {run.header['run']} has a shape that the report does not know: "
            f"{type(error).__name__}: {error}. "
            "Read it with conformance.run_files.reading.read_run to see where."
        ) from error
    return save(path, text)


def save(path: str | os.PathLike[str], text: str) -> Path:
    """Write a report's text to `path`, atomically; raises ReportError if that fails."""
    try:
        with writing(path):
            return write_text(path, text)
    except OutputError as error:
        raise ReportError(str(error)) from error


def page(run: Run) -> str:
    """The report of `run` as the text of one HTML document."""
    found = summary(run)
    grouped = causes(run.programs, run.levels)
    listed = found.attention[:STATIC_FAILURES]
    rows = {row.area: row for row in found.rows} | {"": found.total}
    return render(
        "run.html.j2",
        styles=(*STYLES, *DRAWING_STYLES),
        scripts=SCRIPTS,
        summary=found,
        causes=[shown(cause) for cause in grouped],
        causes_title=title(grouped),
        open_causes=OPEN,
        heat=areas(found.rows),
        operators=operators(run.programs),
        lacks=lacks(run),
        open_lacks=OPEN_LACKS,
        failures=listed,
        spec_url=spec_site(run.header.get("spec_url")),
        landings=landings(run.programs, [item.id for item in listed], grouped, rows),
        hidden_failures=max(0, len(found.attention) - STATIC_FAILURES),
        data=payload(run, grouped),
        levels=LEVELS,
        categories=CATEGORIES,
        not_compared=NOT_COMPARED,
        words=WORDS,
        symbols=SYMBOLS,
        sweep=sweep_summary(run.programs),
        columns=COLUMNS,
        conventions=conventions(run.programs),
        names=run.header["backend"].get("names") or [],
        times=times(run.programs),
        prose=prose(run.programs),
        other_versions=groups(run.programs),
        since=since(run.programs),
        column_words=COLUMN_WORDS,
    )


def _check(run: Run) -> None:
    """Validate a run: raises ReportError for no header, duplicate IDs or unknown verdicts."""
    for part in ("run", "backend", "oracle", "programs", "started", "host", "selection"):
        if part not in run.header:
            raise ReportError(f'not a run: its header has no "{part}".')
    seen: set[str] = set()
    for number, line in enumerate(run.programs, start=1):
        name = line.get("id")
        if not isinstance(name, str) or not name:
            raise ReportError(f"program number {number} of the run has no ID.")
        if name in seen:
            raise ReportError(f"program {name} is in the run twice.")
        seen.add(name)
        if line.get("outcome") not in OUTCOMES:
            raise ReportError(f"program {name}: unknown outcome {line.get('outcome')!r}.")
