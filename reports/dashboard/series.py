"""Grouping of an archive's runs into configurations, and into series of comparable runs."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from conformance.base.levels import LEVELS
from conformance.base.torch_versions import minor, order
from conformance.run_files.qualified_claims import NARROWING
from reports.badge import file_name
from reports.dashboard.archive import ArchivedRun
from reports.dashboard.digest import Backend
from reports.summary import described, selected

FLAKY_WINDOW = 100
"""Number of runs of the same versions that are searched for flaky programs."""

_TORCH = "torch"
_OF_HISTORY = re.compile(r"recorded:torch-\d+\.\d+(-\w+)?")


class Subject(NamedTuple):
    """The two sides of a comparison, independent of their versions."""

    backend: str
    device: str | None
    oracle: str
    oracle_device: str | None
    default_dtype: str


@dataclass(eq=False)
class Series:
    """Runs of one subject with the same selection, comparable in sequence.

    They are ordered by time, or where torch is the backend by its version, and then by time.
    """

    number: int
    subject: Subject
    selection: dict[str, list[str]]
    runs: list[ArchivedRun] = field(default_factory=list)

    @property
    def is_narrow(self) -> bool:
        """Whether its runs cover areas only in part."""
        return any(self.selection.get(name) for name in (*NARROWING, "classes"))

    @property
    def is_of_torch(self) -> bool:
        """Whether the backend is torch, so that its versions order the runs."""
        return self.subject.backend == _TORCH

    @property
    def selected(self) -> str:
        """The selection of its runs as text."""
        return selected(self.selection)

    def complete(self, version: str | None = None) -> list[ArchivedRun]:
        """Its runs that finished, of one version or of all."""
        runs = (run for run in self.runs if run.digest.complete)
        return [run for run in runs if version is None or run.version == version]


@dataclass(eq=False)
class Configuration:
    """A subject with its series; it has one page, one column of the matrix, and badges."""

    subject: Subject
    slug: str
    series: list[Series] = field(default_factory=list)

    @property
    def runs(self) -> list[ArchivedRun]:
        """All its runs in order of time."""
        found = [run for series in self.series for run in series.runs]
        return sorted(found, key=lambda run: (run.moment, run.id))

    @property
    def versions(self) -> list[str]:
        """Its versions in order.

        Versions of the backend are ordered by the last complete run of each, those of torch, on
        either side, as torch's own.
        """
        last: dict[str, str] = {}
        for run in self.runs:
            if run.digest.complete or run.version not in last:
                last[run.version] = run.moment
        of_backend: dict[str, str] = {}
        for version, moment in last.items():
            backend = _sides(version)[0]
            of_backend[backend] = max(moment, of_backend.get(backend, ""))

        def place(version: str) -> tuple[Any, ...]:
            backend, oracle = _sides(version)
            is_torch = self.subject.backend == _TORCH
            first = _order(backend) if is_torch else of_backend[backend]
            return first, _order(oracle), last[version]

        return sorted(last, key=place)

    def torch_versions(self) -> dict[str, str]:
        """The minor version of torch for each of its versions, if torch's is all that differs."""
        sides = {version: _sides(version) for version in self.versions}
        torch = 0 if self.subject.backend == _TORCH else 1
        others = {pair[1 - torch] for pair in sides.values()}
        found = {version: minor(pair[torch]) for version, pair in sides.items()}
        named = {version: torch for version, torch in found.items() if torch is not None}
        is_of_torch = _TORCH in (self.subject.backend, self.subject.oracle)
        distinct = len(set(named.values()))
        return named if is_of_torch and len(others) == 1 and distinct == len(sides) > 1 else {}

    @property
    def name(self) -> str:
        """The backend's name without a version: `impl (cpu)`."""
        return named(self.subject)

    def wide(self) -> list[Series]:
        """The series that cover whole areas; all series if none does."""
        return [series for series in self.series if not series.is_narrow] or self.series

    def newest(self, version: str) -> dict[str, ArchivedRun]:
        """By area, the newest complete run of a version that has it."""
        runs = [run for series in self.wide() for run in series.complete(version)]
        found: dict[str, ArchivedRun] = {}
        for run in sorted(runs, key=lambda run: (run.moment, run.id)):
            found.update(dict.fromkeys(run.digest.parts, run))
        return found


def named(subject: Subject, version: str | None = None) -> str:
    """A subject as text, `impl 0.1.0 (cpu)`, with its settings that are not the default."""
    text = described({"name": subject.backend, "version": version, "device": subject.device})
    if subject.default_dtype != "float32":
        text += f", {subject.default_dtype}"
    if subject.oracle == "none":
        text += ", without an oracle"
    elif (subject.oracle, subject.oracle_device) != (_TORCH, "cpu"):
        oracle = {"name": subject.oracle, "version": None, "device": subject.oracle_device}
        text += f", against {described(oracle)}"
    return text


def configurations(runs: Iterable[ArchivedRun]) -> list[Configuration]:
    """The configurations of these runs; the most recently run subjects come first."""
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
    for one in series.values():
        if one.is_of_torch:
            one.runs.sort(key=lambda run: _order(_sides(run.version)[0]))
    return sorted(found.values(), key=lambda one: (last[one.subject], one.slug), reverse=True)


def _subject(run: ArchivedRun) -> Subject:
    backend, oracle = run.digest.backend, run.digest.oracle
    return Subject(
        _bare(backend), backend.device, _bare(oracle), oracle.device, run.digest.default_dtype
    )


def _selection(run: ArchivedRun) -> dict[str, list[str]]:
    """The criteria of a run's selection; criteria without a restriction are left out."""
    found = {name: sorted(set(values)) for name, values in run.digest.selection.items() if values}
    if set(found.get("levels", ())) == set(LEVELS):
        del found["levels"]
    return found


def _bare(backend: Backend) -> str:
    """The name that a backend is known by, without its device; a version of torch in the history is
    torch."""
    name = _TORCH if _OF_HISTORY.fullmatch(backend.name) else backend.name
    return backend.title or name.removesuffix(f":{backend.device}")


def _sides(version: str) -> tuple[str, str]:
    backend, _, oracle = version.partition(" / ")
    return backend, oracle


def _order(version: str) -> tuple[int, int]:
    """The place of a release among torch's; before all others for a text that is none."""
    found = minor(version)
    return order(found) if found else (0, 0)


def _slug(subject: Subject, others: Iterable[Configuration]) -> str:
    """A unique name of the subject for files and links."""
    words = [subject.backend, subject.device or ""]
    if subject.default_dtype != "float32":
        words.append(subject.default_dtype)
    if (subject.oracle, subject.oracle_device) != (_TORCH, "cpu"):
        words += ["against", subject.oracle, subject.oracle_device or ""]
    plain = file_name("-".join(filter(None, words)))
    taken = {other.slug.lower() for other in others}
    slug, turn = plain or "backend", 2
    while slug.lower() in taken:
        slug, turn = f"{plain or 'backend'}-{turn}", turn + 1
    return slug
