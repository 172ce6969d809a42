"""The overview's contents: changes since the previous run, and current divergences."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

from conformance.base.levels import LEVELS, NOT_COMPARED
from conformance.run_files.categories import CATEGORIES
from conformance.run_files.changes import KINDS, Changes, Standing, changes
from conformance.suite.areas import AREAS
from reports.categories import SYMBOLS
from reports.dashboard.archive import ArchivedRun
from reports.dashboard.causes import Group, current_groups, groups
from reports.dashboard.ledger import Flaky, Ledger
from reports.dashboard.series import Configuration, Series, named
from reports.summary import AreaRow
from reports.text import count, visible


@dataclass(frozen=True)
class Step:
    """The newest complete run of a series, its predecessor, and the changes between them."""

    series: Series
    after: ArchivedRun
    before: ArchivedRun | None
    changes: Changes | None
    added: list[Attended]
    """The new programs with their standings."""
    causes: dict[str, list[Group]]
    """By kind of change, the causes of the programs that diverge now (`diverges`; added ones among
    them), or that diverged before (`conforms`)."""

    @property
    def fresh(self) -> int:
        """The number of new programs that diverge."""
        return sum(one.standing.category == "diverges" for one in self.added)

    @property
    def is_quiet(self) -> bool:
        """Whether no program's standing changed, and none was added or removed."""
        found = self.changes
        return found is not None and not (found.added or found.removed or found.changed)


@dataclass(frozen=True)
class Attended:
    """A program that does not conform in the newest run that has it."""

    id: str
    run: ArchivedRun
    standing: Standing


@dataclass(frozen=True)
class VersionState:
    """One version of a configuration: by area, the run selected for it, and counts."""

    version: str
    runs: dict[str, ArchivedRun]
    rows: dict[str, AreaRow]
    total: AreaRow

    @property
    def moment(self) -> str:
        """The start time of its newest run."""
        return max((run.moment for run in self.runs.values()), default="")


def version_states(configuration: Configuration) -> list[VersionState]:
    """The states of a configuration, one per version, ordered by their last runs."""
    found = []
    for version in configuration.versions:
        runs = configuration.newest(version)
        found.append(VersionState(version, runs, *rows_of(runs)))
    return found


@dataclass(frozen=True)
class Current:
    """The current state of a configuration: the newest runs of its current version."""

    configuration: Configuration
    versions: list[VersionState]
    steps: list[Step]
    attended: list[Attended]
    causes: list[Group]
    flaky: list[Flaky]

    @property
    def name(self) -> str:
        """The configuration's name with its backend's version."""
        return named(self.configuration.subject, self.version.partition(" / ")[0])

    @property
    def diverging(self) -> list[Attended]:
        """The diverging programs, without known divergences."""
        return [one for one in self.attended if one.standing.category == "diverges"]

    @property
    def version(self) -> str:
        """The version of the last run."""
        return self.versions[-1].version

    @property
    def runs(self) -> dict[str, ArchivedRun]:
        """By area, the run selected for it."""
        return self.versions[-1].runs

    @property
    def rows(self) -> dict[str, AreaRow]:
        """Counts of each area's programs by category."""
        return self.versions[-1].rows

    @property
    def total(self) -> AreaRow:
        """Counts of all programs by category."""
        return self.versions[-1].total

    @property
    def moment(self) -> str:
        """The start time of its newest run."""
        return self.versions[-1].moment

    @property
    def newest(self) -> list[ArchivedRun]:
        """The selected runs, the newest first."""
        distinct = {run.id: run for run in self.runs.values()}
        return sorted(distinct.values(), key=lambda run: (run.moment, run.id), reverse=True)

    @cached_property
    def moved(self) -> Counter[str]:
        """Counts of changes by KINDS, added and removed; added diverging ones count as both."""
        found: Counter[str] = Counter()
        for step in self.steps:
            if step.changes:
                found.update(change.kind for change in step.changes.changed)
                found.update(added=len(step.changes.added), removed=len(step.changes.removed))
                found["diverges"] += step.fresh
        return found

    @property
    def status(self) -> str:
        """`diverges`; `incomplete`: no divergence, but programs not compared; `other_version`: no
        divergence, but programs on which another version of torch is shown; or `conforms`."""
        ended = self.total.categories
        if ended["diverges"] or ended["specification"]:
            return "diverges"
        missing = sum(ended[kind] for kind in NOT_COMPARED)
        if missing or not self.total.programs:
            return "incomplete"
        return "other_version" if ended["other_version"] else "conforms"

    @property
    def symbol(self) -> str:
        """The symbol of the status."""
        return {"incomplete": "◐"}.get(self.status) or SYMBOLS[self.status]

    @property
    def verdict(self) -> str:
        """The status as text: numbers of diverging and of not compared programs."""
        ended = self.total.categories
        missing = sum(ended[kind] for kind in NOT_COMPARED)
        compared = self.total.programs - missing
        if not self.total.programs:
            return "no run has come to its end"
        if not compared:
            text = "nothing was compared"
        elif ended["diverges"]:
            text = f"diverges in {ended['diverges']:,} of {count(compared, 'program')}"
        elif ended["specification"]:
            text = (
                f"the oracle fails the specification in {count(ended['specification'], 'program')}"
            )
        elif ended["other_version"]:
            text = f"conforms in {ended['conforms']:,} of {count(compared, 'program')}"
        else:
            text = f"conforms in {'all ' if not missing else ''}{count(compared, 'program')}"
        if ended["other_version"]:
            text += f", {ended['other_version']:,} as another version of torch"
        if ended["known"]:
            text += f", {count(ended['known'], 'known divergence')}"
        return text + (f"; {missing:,} not compared" if missing else "")


def current(configuration: Configuration, ledger: Ledger) -> Current:
    """The current state of a configuration."""
    versions = version_states(configuration)
    runs = versions[-1].runs
    speaking = {run.id for run in runs.values()}
    # A series whose newest run is selected for no area is outdated.
    wide = [s for s in configuration.wide() if {r.id for r in s.complete()[-1:]} & speaking]
    return Current(
        configuration=configuration,
        versions=versions,
        steps=[_step(series) for series in wide],
        attended=_attended(runs),
        causes=current_groups(runs),
        flaky=[one for series in wide for one in ledger.flaky(series)],
    )


def rows_of(runs: dict[str, ArchivedRun]) -> tuple[dict[str, AreaRow], AreaRow]:
    """Counts by category of each area's programs in the run selected for it, and their total."""
    total = AreaRow("All areas")
    found = {}
    for area in ordered(runs):
        row = found[area] = AreaRow(area)
        digest = runs[area].digest
        for number, programs in Counter(digest.parts[area].standings).items():
            standing = digest.standings[number]
            verdicts = {
                level: verdict
                for level, verdict in zip(LEVELS, standing.levels, strict=True)
                if verdict
            }
            for counted in (row, total):
                failed = standing.category == "specification"
                counted.count(standing.category, verdicts, failed, programs)
    return found, total


def ordered(areas: Iterable[str]) -> list[str]:
    """Areas in the suite's order; chapters outside of it come before the samples, by name."""
    known = {area: place for place, area in enumerate(AREAS)}
    chapters = AREAS.index("programs")
    return sorted(
        dict.fromkeys(areas),
        key=lambda area: (known.get(area, chapters - 0.5), area),
    )


def _step(series: Series) -> Step:
    *earlier, after = series.complete()
    if not earlier:
        return Step(series, after, None, None, [], {})
    before, now = earlier[-1], after.standings()
    found = changes(before.standings(), now)
    worse = [change.id for change in found.of_kind("diverges")]
    better = [change.id for change in found.of_kind("conforms")]
    return Step(
        series,
        after,
        before,
        found,
        [Attended(name, after, now[name]) for name in found.added],
        {
            "diverges": groups(after, [*worse, *found.added], before),
            "conforms": groups(before, better),
        },
    )


def _attended(runs: dict[str, ArchivedRun]) -> list[Attended]:
    found = []
    for area in ordered(runs):
        run = runs[area]
        part = run.digest.parts[area]
        odd = {n for n, one in enumerate(run.digest.standings) if one.category != "conforms"}
        if not odd.intersection(part.standings):
            continue
        names = run.archive.roster(part.roster).ids
        for name, number in zip(names, part.standings, strict=True):
            if number in odd:
                found.append(Attended(name, run, run.digest.standings[number]))
    return sorted(found, key=lambda one: CATEGORIES.index(one.standing.category))


def headline(states: list[Current]) -> tuple[str, str]:
    """The first and the second sentence of the site."""
    worse = [state for state in states if state.moved["diverges"]]
    programs = sum(state.moved["diverges"] for state in worse)
    diverging = [state for state in states if state.status == "diverges"]
    if worse:
        what = count(programs, "program diverges", "programs diverge")
        first = f"{what} that did not in the run before"
    elif diverging:
        first = "Nothing diverges that did not in the run before"
    else:
        first = "Nothing diverges"
    if len(states) == 1:
        return first, f"{states[0].name}: {states[0].verdict}."
    parts = [
        f"{sum(state.status == status for state in states):,} {words}"
        for status, words in (
            ("diverges", "diverging"),
            ("incomplete", "without divergence but not wholly compared"),
            ("other_version", "in part as another version of torch"),
            ("conforms", "conforming"),
        )
        if any(state.status == status for state in states)
    ]
    return first, f"{count(len(states), 'configuration')}: {', '.join(parts)}."


KIND_WORDS = {
    "diverges": "diverging now",
    "lost": "no longer compared",
    "other_version": "as another version of torch now",
    "conforms": "conforming now",
    "otherwise": "standing otherwise",
    "added": "added",
    "removed": "removed",
}
KIND_SYMBOLS = {
    "diverges": "✗",
    "lost": "○",
    "other_version": "⇄",
    "conforms": "✓",
    "otherwise": "≠",
    "added": "+",
    "removed": "−",
}
assert set(KINDS) < set(KIND_WORDS)


@dataclass(frozen=True)
class Finding:
    """A program found by fuzzing, and its standing in each configuration."""

    id: str
    sentence: str
    stands: list[tuple[Current, Attended | None]]


def findings(states: list[Current], ledger: Ledger) -> list[Finding]:
    """The programs of the area `fuzz`; those that diverge in any configuration come first."""
    names: dict[str, None] = {}
    for state in states:
        if "fuzz" in state.runs:
            run = state.runs["fuzz"]
            names.update(dict.fromkeys(run.archive.roster(run.digest.parts["fuzz"].roster).ids))
    odd = [{one.id: one for one in state.attended} for state in states]
    found = [
        Finding(
            id=name,
            sentence=visible(ledger.field(ledger.entries[name], "sentences") or ""),
            stands=[
                (state, attended.get(name))
                for state, attended in zip(states, odd, strict=True)
                if "fuzz" in state.runs
            ],
        )
        for name in names
    ]
    return sorted(found, key=lambda one: not any(standing for _, standing in one.stands))
