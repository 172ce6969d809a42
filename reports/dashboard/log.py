"""The log of a series: for each run, how many programs began and ceased to diverge, and of what."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from conformance.run_files.categories import CATEGORIES
from conformance.run_files.changes import AT_FAULT
from reports.dashboard.archive import ArchivedRun
from reports.dashboard.ledger import ABSENT, Ledger
from reports.dashboard.overview import ordered
from reports.dashboard.series import Series
from reports.text import visible


@dataclass(frozen=True)
class Cell:
    """An area in a run: `kind` is the first of CATEGORIES that its programs have, `number` how many
    have it."""

    area: str
    kind: str
    number: int


@dataclass(frozen=True)
class Logged:
    """One run: `worse` programs diverge that did not in the run before, `better` the other way.

    Both are None for the first run. `appeared` and `gone` are the causes, in words, that only this
    run has, and that only the run before had. `cells` has one entry for each of the series' areas,
    None for one that the run does not have.
    """

    run: ArchivedRun
    before: ArchivedRun | None
    worse: int | None
    better: int | None
    diverging: int
    appeared: list[str]
    gone: list[str]
    cells: list[Cell | None]


def log(series: Series, ledger: Ledger) -> list[Logged]:
    """The runs of a series, the newest first."""
    worse, better = _moves(series, ledger)
    areas = ordered(area for run in series.runs for area in run.digest.parts)
    found = []
    for at, run in enumerate(series.runs):
        before = series.runs[at - 1] if at else None
        tallies = {area: _tally(run, area) for area in run.digest.parts}
        now, then = _causes(run), _causes(before) if before else {}
        found.append(
            Logged(
                run=run,
                before=before,
                worse=worse[at] if before else None,
                better=better[at] if before else None,
                diverging=sum(tally[kind] for tally in tallies.values() for kind in AT_FAULT),
                appeared=[words for key, words in now.items() if key not in then],
                gone=[words for key, words in then.items() if key not in now],
                cells=[_cell(area, tallies.get(area)) for area in areas],
            )
        )
    return found[::-1]


def _moves(series: Series, ledger: Ledger) -> tuple[Counter[int], Counter[int]]:
    """By position of a run, the programs that diverge and did not before, and the other way."""
    worse: Counter[int] = Counter()
    better: Counter[int] = Counter()
    for entry in ledger.entries.values():
        diverged = False
        for position, number in entry.histories.get(series.number, ()):
            if number == ABSENT:
                continue  # a run that lacks the program says nothing of it
            diverges = ledger.standings[number].category in AT_FAULT
            if diverges != diverged:
                (worse if diverges else better)[position] += 1
            diverged = diverges
    return worse, better


def _causes(run: ArchivedRun) -> dict[str, str]:
    return {cause.shown.key: cause.shown.words for cause in run.digest.causes}


def _tally(run: ArchivedRun, area: str) -> Counter[str]:
    """By category, how many programs of the area have it."""
    tally: Counter[str] = Counter()
    for number, programs in Counter(run.digest.parts[area].standings).items():
        tally[run.digest.standings[number].category] += programs
    return tally


def _cell(area: str, tally: Counter[str] | None) -> Cell | None:
    if not tally:
        return None
    kind = next(kind for kind in CATEGORIES if tally[kind])
    return Cell(visible(area), kind, tally[kind])
