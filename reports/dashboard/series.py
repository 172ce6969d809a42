"""The runs of an archive by what they are runs of: configurations, and series of like runs."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import NamedTuple

from conformance.runs import LEVELS
from reports.dashboard.archive import ArchivedRun
from reports.dashboard.digest import Backend
from reports.summary import described, selected

NARROWING = ("rules", "operators", "dtypes", "ids", "failed_in", "shard")
"""What a selection may name that leaves an area in part only: such a run is none of the area."""

FLAKY_WINDOW = 100
"""Runs of the same versions that are looked at for programs that come and go."""


class Subject(NamedTuple):
    """What is compared with what: the same in every version."""

    backend: str
    device: str | None
    oracle: str
    oracle_device: str | None
    default_dtype: str


@dataclass(eq=False)
class Series:
    """Runs of one subject with the same selection, the earliest first: each has a previous one."""

    number: int
    subject: Subject
    selection: dict[str, list[str]]
    runs: list[ArchivedRun] = field(default_factory=list)

    @property
    def is_narrow(self) -> bool:
        """Whether its runs see areas only in part."""
        return any(self.selection.get(name) for name in NARROWING)

    @property
    def selected(self) -> str:
        """What its runs are of, in words."""
        return selected(self.selection)

    def complete(self, version: str | None = None) -> list[ArchivedRun]:
        """Its runs that came to their end, of one version or of all."""
        runs = (run for run in self.runs if run.digest.complete)
        return [run for run in runs if version is None or run.version == version]


@dataclass(eq=False)
class Configuration:
    """A subject with its series: what has one page, one column of the matrix, and badges."""

    subject: Subject
    slug: str
    series: list[Series] = field(default_factory=list)

    @property
    def runs(self) -> list[ArchivedRun]:
        """All its runs, the earliest first."""
        found = [run for series in self.series for run in series.runs]
        return sorted(found, key=lambda run: (run.moment, run.id))

    @property
    def versions(self) -> list[str]:
        """Its versions, in the order in which each was last run to the end."""
        last: dict[str, str] = {}
        for run in self.runs:
            if run.digest.complete or run.version not in last:
                last[run.version] = run.moment
        return sorted(last, key=lambda version: last[version])

    @property
    def name(self) -> str:
        """The backend without a version: `impl (cpu)`."""
        return named(self.subject)

    def wide(self) -> list[Series]:
        """The series whose runs see whole areas; all of them where none does."""
        return [series for series in self.series if not series.is_narrow] or self.series

    def newest(self, version: str) -> dict[str, ArchivedRun]:
        """By area, the newest complete run of a version that has it."""
        runs = [run for series in self.wide() for run in series.complete(version)]
        found: dict[str, ArchivedRun] = {}
        for run in sorted(runs, key=lambda run: (run.moment, run.id)):
            found.update(dict.fromkeys(run.digest.parts, run))
        return found


def named(subject: Subject, version: str | None = None) -> str:
    """A subject in words: `impl 0.1.0 (cpu)`, with what is not usual about it."""
    text = described({"name": subject.backend, "version": version, "device": subject.device})
    if subject.default_dtype != "float32":
        text += f", {subject.default_dtype}"
    if subject.oracle == "none":
        text += ", without an oracle"
    elif (subject.oracle, subject.oracle_device) != ("torch", "cpu"):
        oracle = {"name": subject.oracle, "version": None, "device": subject.oracle_device}
        text += f", against {described(oracle)}"
    return text


def configurations(runs: Iterable[ArchivedRun]) -> list[Configuration]:
    """The runs by subject and selection; subjects that were run last come first."""
    found: dict[Subject, Configuration] = {}
    series: dict[tuple[Subject, str], Series] = {}
    last: dict[Subject, str] = {}
    for run in runs:
        subject = _subject(run)
        if subject not in found:
            found[subject] = Configuration(subject, _slug(subject, found.values()))
        selection = _selection(run)
        key = (subject, json.dumps(selection, sort_keys=True))
        if key not in series:
            series[key] = Series(len(series), subject, selection)
            found[subject].series.append(series[key])
        series[key].runs.append(run)
        last[subject] = run.moment
    return sorted(found.values(), key=lambda one: (last[one.subject], one.slug), reverse=True)


def _subject(run: ArchivedRun) -> Subject:
    backend, oracle = run.digest.backend, run.digest.oracle
    return Subject(
        _bare(backend), backend.device, _bare(oracle), oracle.device, run.digest.default_dtype
    )


def _selection(run: ArchivedRun) -> dict[str, list[str]]:
    """What a run was restricted to: what is not restricted does not tell runs apart."""
    found = {name: sorted(set(values)) for name, values in run.digest.selection.items() if values}
    if set(found.get("levels", ())) == set(LEVELS):
        del found["levels"]
    return found


def _bare(backend: Backend) -> str:
    return backend.name.removesuffix(f":{backend.device}")


def _slug(subject: Subject, others: Iterable[Configuration]) -> str:
    """A name for files and links."""
    words = [subject.backend, subject.device or ""]
    if subject.default_dtype != "float32":
        words.append(subject.default_dtype)
    if (subject.oracle, subject.oracle_device) != ("torch", "cpu"):
        words += ["against", subject.oracle, subject.oracle_device or ""]
    plain = re.sub(r"[^A-Za-z0-9._]+", "-", "-".join(filter(None, words))).strip("-.")[:80]
    taken = {other.slug.lower() for other in others}
    slug, turn = plain or "backend", 2
    while slug.lower() in taken:
        slug, turn = f"{plain or 'backend'}-{turn}", turn + 1
    return slug
