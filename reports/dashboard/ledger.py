"""Histories of all programs over all runs, stored as changes since standings rarely change."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from conformance.run_files.changes import Standing
from reports.dashboard.archive import Archive, ArchivedRun
from reports.dashboard.series import FLAKY_WINDOW, Series
from reports.payload import Column, json_text, packed

ABSENT = -1
"""Standing in a history if the run does not have the program."""

SHARD = 1000
"""Approximate programs per data file: a program's page loads one file, a comparison all."""


_Standings = dict[str, tuple[str, list[int]]]
"""By area, a roster and the index of the standing of each of its programs."""


@dataclass(eq=False)
class Entry:
    """One program: its description in the newest run that has it, and its history by series.

    A history is a list of changes (index of the run in the series, index of the new standing).
    """

    id: str
    area: str = ""
    described: tuple[str, int] = ("", 0)
    """The roster with its description, and the index there."""
    histories: dict[int, list[tuple[int, int]]] = field(default_factory=dict)


@dataclass(frozen=True)
class Flaky:
    """A program whose outcome alternates under the same versions of backend, oracle and suite."""

    id: str
    series: Series
    changes: int
    runs: int
    seen: list[str]
    """Its categories, the most frequent first."""
    last: ArchivedRun
    """The run of its last change."""


class Ledger:
    """The histories of all programs over all series."""

    def __init__(self, archive: Archive, series: Iterable[Series]) -> None:
        self.archive = archive
        self.entries: dict[str, Entry] = {}
        self._numbers: dict[Standing, int] = {}
        self.series = sorted(series, key=lambda one: one.number)
        for one in self.series:
            self._follow(one)
        self._describe()
        self.standings = list(self._numbers)

    def _follow(self, series: Series) -> None:
        before: _Standings = {}
        current: dict[str, int] = {}
        for position, run in enumerate(series.runs):
            table = [self._number(standing) for standing in run.digest.standings]
            now = {
                area: (part.roster, [table[number] for number in part.standings])
                for area, part in run.digest.parts.items()
            }
            for name, number in self._moved(before, now).items():
                if current.get(name, ABSENT) != number:
                    current[name] = number
                    self._entry(name).histories.setdefault(series.number, []).append(
                        (position, number)
                    )
            before = now

    def _moved(self, before: _Standings, now: _Standings) -> dict[str, int]:
        """The programs whose standing may differ from the run before, with their standing now."""
        gone: dict[str, int] = {}
        found: dict[str, int] = {}
        for area in dict.fromkeys((*before, *now)):
            old, new = before.get(area), now.get(area)
            if old == new:
                continue
            if old and new and old[0] == new[0]:
                names = self.archive.roster(new[0]).ids
                pairs = enumerate(zip(old[1], new[1], strict=True))
                found.update((names[at], two) for at, (one, two) in pairs if one != two)
                continue
            if old:
                gone.update(dict.fromkeys(self.archive.roster(old[0]).ids, ABSENT))
            if new:
                found.update(zip(self.archive.roster(new[0]).ids, new[1], strict=True))
        return {**gone, **found}

    def _describe(self) -> None:
        last: dict[str, str] = {}
        for run in self.archive.runs:
            for area, part in run.digest.parts.items():
                if last.get(area) == part.roster:
                    continue
                last[area] = part.roster
                for place, name in enumerate(self.archive.roster(part.roster).ids):
                    entry = self.entries[name]
                    entry.area, entry.described = area, (part.roster, place)

    def _number(self, standing: Standing) -> int:
        return self._numbers.setdefault(standing, len(self._numbers))

    def _entry(self, name: str) -> Entry:
        if name not in self.entries:
            self.entries[name] = Entry(name)
        return self.entries[name]

    def field(self, entry: Entry, column: str) -> str | None:
        """A column, such as `rules`, of the program in the newest roster that has it."""
        roster, place = entry.described
        return getattr(self.archive.roster(roster), column)[place]

    def flaky(self, series: Series) -> list[Flaky]:
        """Programs of a series with an outcome that changed and changed back; most changes first.

        Considered are at most FLAKY_WINDOW latest runs with the versions of the last one. Runs
        without the program, or without the device for it, are skipped.
        """
        latest = series.runs[-FLAKY_WINDOW:]
        same = _versions(latest[-1])
        start = next(
            (at for at in range(len(latest), 0, -1) if _versions(latest[at - 1]) != same), 0
        )
        first = len(series.runs) - len(latest) + start
        found = []
        for entry in self.entries.values():
            history = entry.histories.get(series.number, [])
            if len(history) > 2 and (one := self._restless(entry.id, series, history, first)):
                found.append(one)
        return sorted(found, key=lambda one: (-one.changes, one.id))

    def _restless(
        self, name: str, series: Series, history: list[tuple[int, int]], first: int
    ) -> Flaky | None:
        ends = [position for position, _ in history[1:]] + [len(series.runs)]
        lengths: dict[str, int] = {}
        outcomes: list[tuple[Any, int]] = []
        for (begin, number), end in zip(history, ends, strict=True):
            if number == ABSENT or end <= first:
                continue
            category, levels, _ = self.standings[number]
            if category == "not_run":
                continue
            lengths[category] = lengths.get(category, 0) + end - max(begin, first)
            if not outcomes or outcomes[-1][0] != (category, levels):
                outcomes.append(((category, levels), max(begin, first)))
        if len({outcome for outcome, _ in outcomes}) == len(outcomes):
            return None  # no outcome came back
        return Flaky(
            id=name,
            series=series,
            changes=len(outcomes) - 1,
            runs=len(series.runs) - first,
            seen=sorted(lengths, key=lambda kind: -lengths[kind]),
            last=series.runs[outcomes[-1][1]],
        )

    def shards(self) -> tuple[list[str], list[str]]:
        """The data files: histories with descriptions, and separately the sources, both packed.

        A program's shard is given by the hash of its rule, or of its ID if it has no rule: all
        programs of a rule are in one file.
        """
        count = max(1, -(-len(self.entries) // SHARD))
        members: list[list[Entry]] = [[] for _ in range(count)]
        for name in sorted(self.entries):
            entry = self.entries[name]
            key = self.field(entry, "rules") or name
            members[place(key, count)].append(entry)
        histories = [packed(json_text(self._shard(entries))) for entries in members]
        return histories, [packed(json_text(texts)) for texts in self._texts(members)]

    def _shard(self, entries: list[Entry]) -> dict[str, Any]:
        local: dict[int, int] = {ABSENT: ABSENT}
        distinct: dict[str, int] = {}
        histories: list[Any] = []
        cells: list[int] = []
        for entry in entries:
            coded = [
                [series, *(part for at, number in pairs for part in (at, _local(local, number)))]
                for series, pairs in sorted(entry.histories.items())
            ]
            key = json_text(coded)
            if key not in distinct:
                distinct[key] = len(histories)
                histories.append(coded)
            cells.append(distinct[key])
        del local[ABSENT]
        return {
            "id": [entry.id for entry in entries],
            "area": Column(entry.area for entry in entries).json(),
            **{
                column[:-1]: Column(self.field(entry, column) for entry in entries).json()
                for column in ("rules", "operators", "dtypes", "sentences")
            },
            "standings": [self.standings[number] for number in local],
            "histories": histories,
            "history": cells,
        }

    def _texts(self, members: list[list[Entry]]) -> list[list[str]]:
        sources: dict[str, list[str]] = {}
        for roster in {entry.described[0] for entry in self.entries.values()}:
            sources[roster] = self.archive.sources(self.archive.roster(roster))
        return [
            [sources[entry.described[0]][entry.described[1]] for entry in entries]
            for entries in members
        ]


def _local(local: dict[int, int], number: int) -> int:
    # The table includes ABSENT, so that the first standing has number 0.
    return local.setdefault(number, len(local) - 1)


def _versions(run: ArchivedRun) -> tuple[Any, ...]:
    return run.digest.backend, run.digest.oracle, run.digest.suite


def place(key: str, count: int) -> int:
    """The shard of a key, out of `count`: its 32-bit FNV-1a hash, as in the page's script."""
    found = 0x811C9DC5
    for byte in key.encode("utf-8"):
        found = (found ^ byte) * 0x01000193 & 0xFFFFFFFF
    return found % count
