"""The history: the traces that each minor version of torch shows, each distinct trace once.

It is a folder of files in JSON Lines, compressed with xz, one for each part of the suite (rules,
programs, conventions, operators, ...): a header with the versions of torch that were recorded, then
a line per program, sorted by ID, with its distinct traces and the versions that show each of them.
The traces of one version are a view of the history, and serve as a recording.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, TypedDict

from conformance.base.forms import Count, Minor
from conformance.base.torch_versions import minor, newest_first
from conformance.execution.recordings import (
    DiedThen,
    NotRecorded,
    fingerprint,
    located,
)
from conformance.execution.trace_file import RecordingError, TraceFile
from conformance.observe.trace import Trace, TraceError
from conformance.program.program import Program

ENDING = ".jsonl.xz"
_TRACE_KEY = b'"versions":['
_FIRST_TRACE = re.compile(rb',"source":"([0-9a-f]*)","traces":\[\{"versions":(\[[^]]*\])')
_KINDS = {
    "program": "programs",
    "convention": "conventions",
    "op": "operators",
    "sig": "signatures",
    "law": "laws",
    "fuzz": "findings",
}


def part_of(program: Program) -> str:
    """The part of the history that a program belongs to: `rules`, `operators`, ..."""
    if program.rule is not None:
        return "rules"
    kind = program.id.partition("/")[0]
    return _KINDS.get(kind, kind)


@dataclass
class Shown:
    """One distinct trace of a program, and the versions of torch that show it, newest first.

    A trace is None where torch's process died; `died` says how.
    """

    versions: tuple[str, ...]
    trace: Trace | None
    died: str | None = None

    def to_json(self) -> dict[str, Any]:
        """Return the form that stands in the history."""
        data: dict[str, Any] = {"versions": list(self.versions)}
        if self.trace is None:
            return {**data, "died": self.died}
        return {**data, "trace": self.trace.to_json()}

    @classmethod
    def from_json(cls, data: Any) -> Shown:
        """Return what `to_json` wrote; raises TraceError, KeyError, TypeError, ValueError."""
        versions = newest_first(data["versions"])
        if "died" in data:
            return cls(versions, None, str(data["died"]))
        return cls(versions, Trace.from_json(data["trace"]))


@dataclass
class Entry:
    """The distinct traces of one program of which the fingerprint is `source`, newest first."""

    source: str
    shown: list[Shown] = field(default_factory=list)

    @property
    def versions(self) -> tuple[str, ...]:
        """The versions that were recorded, newest first."""
        return newest_first(version for shown in self.shown for version in shown.versions)

    def of(self, version: str) -> Shown | None:
        """The trace of one version; None where it was not recorded."""
        return next((shown for shown in self.shown if version in shown.versions), None)


class PartHeader(TypedDict):
    """The first line of a part."""

    type: str
    schema: int
    versions: dict[Minor, str]
    programs: Count


class Part(TraceFile):
    """One file of the history."""

    kind, schema = "history", 1
    form = PartHeader
    units, refused = "programs", "no program of a history"

    @property
    def releases(self) -> dict[str, str]:
        """The release of torch by which each minor version was recorded."""
        return dict(self.header["versions"])

    def entry(self, identifier: str) -> Entry:
        """The entry of a recorded program; raises KeyError, RecordingError."""
        number, line = self._lines[identifier]
        try:
            data = json.loads(line)
            return Entry(str(data["source"]), [Shown.from_json(one) for one in data["traces"]])
        except (ValueError, KeyError, TypeError, RecursionError, TraceError) as error:
            raise RecordingError(f"{self.path}:{number}: no traces: {error}.") from None

    def only(self, identifier: str) -> tuple[str, tuple[str, ...]] | None:
        """The fingerprint and the versions of a program with one trace; None if it has several.

        The trace is not parsed: most programs show the same in every version.
        """
        _, line = self._lines[identifier]
        found = _FIRST_TRACE.search(line)
        if found is None or line.count(_TRACE_KEY) > 1:
            return None
        return found[1].decode(), tuple(json.loads(found[2]))


class History:
    """The history in a folder; each part is read when it is asked for."""

    def __init__(self, folder: Path) -> None:
        """Raises RecordingError for a folder that is missing or holds no part."""
        self.folder = folder
        self._paths = {
            path.name.removesuffix(ENDING): path for path in sorted(folder.glob(f"*{ENDING}"))
        }
        if not self._paths:
            raise RecordingError(f"{folder}: there is no history here.")
        self._parts: dict[str, Part] = {}

    @cached_property
    def releases(self) -> dict[str, str]:
        """The releases of torch that were recorded, by minor version, newest first."""
        found: dict[str, str] = {}
        for path in self._paths.values():
            found |= Part.first_header(path)["versions"]
        return {version: found[version] for version in newest_first(found)}

    @property
    def versions(self) -> tuple[str, ...]:
        """The recorded versions, newest first."""
        return tuple(self.releases)

    def parts(self) -> list[str]:
        """The names of the parts."""
        return list(self._paths)

    def part(self, name: str) -> Part | None:
        """A part by its name; None where nothing of it was recorded. Raises RecordingError."""
        if name not in self._parts:
            if name not in self._paths:
                return None
            self._parts[name] = Part(self._paths[name])
        return self._parts[name]

    def entry(self, program: Program) -> Entry | None:
        """The traces of a program as it is now, by versions; None where that is not recorded.

        The steps have the lines of the program's statements. Raises RecordingError.
        """
        part = self.part(part_of(program))
        if part is None or program.id not in part:
            return None
        entry = part.entry(program.id)
        if entry.source != fingerprint(program):
            return None
        for shown in entry.shown:
            if shown.trace is not None:
                located(program, shown.trace)
        return entry

    def entries(self, programs: Iterable[Program]) -> dict[str, Entry]:
        """The traces of those of the programs that are recorded, by ID; raises RecordingError."""
        found = ((program.id, self.entry(program)) for program in programs)
        return {identifier: entry for identifier, entry in found if entry is not None}

    def only(self, program: Program) -> tuple[str, ...]:
        """The versions that show a program's only trace; empty if it has several, or none."""
        part = self.part(part_of(program))
        if part is None or program.id not in part:
            return ()
        found = part.only(program.id)
        return found[1] if found is not None and found[0] == fingerprint(program) else ()

    def view(self, version: str) -> VersionView:
        """The traces of one version; raises RecordingError where it was not recorded."""
        if version not in self.releases:
            there = ", ".join(self.versions)
            raise RecordingError(f"{self.folder}: there is no torch {version}, but {there}.")
        return VersionView(self, version)


class VersionView:
    """The traces of one version of torch in the history: a recording."""

    def __init__(self, history: History, version: str) -> None:
        self.history, self.version = history, version

    @property
    def oracle(self) -> dict[str, Any]:
        """The oracle's name, version and device."""
        release = self.history.releases[self.version]
        return {"name": "torch", "version": release, "device": self.history.folder.name}

    def check(self, seed: int, default_dtype: str) -> None:
        """Raise RecordingError unless the traces were made with this seed and default dtype."""
        for option, value, made in (
            ("--seed", seed, 0),
            ("--default-dtype", default_dtype, "float32"),
        ):
            if value != made:
                raise RecordingError(f"the history was made with {option} {made}, not {value}.")

    def ids(self) -> list[str]:
        """The IDs of the recorded programs, sorted within each part."""
        parts = (self.history.part(name) for name in self.history.parts())
        return [
            name
            for part in parts
            if part is not None and self.version in part.releases
            for name in part.ids()
        ]

    def trace(self, program: Program) -> Trace:
        """The version's trace of a program; raises NotRecorded, RecordingError."""
        entry = self.history.entry(program)
        shown = entry.of(self.version) if entry is not None else None
        if shown is None:
            raise NotRecorded(f"the history has no trace of torch {self.version} of this program")
        if shown.trace is None:
            raise DiedThen(f"torch {self.version} dies of this program: {shown.died}")
        return shown.trace

    def entry(self, identifier: str) -> tuple[str, Trace]:
        """The fingerprint and the trace of a recorded program; raises RecordingError, KeyError."""
        for name in self.history.parts():
            part = self.history.part(name)
            if part is not None and identifier in part:
                entry = part.entry(identifier)
                shown = entry.of(self.version)
                if shown is not None and shown.trace is not None:
                    return entry.source, shown.trace
        raise KeyError(identifier)


def write_part(
    path: Path, releases: Mapping[str, str], entries: Iterable[tuple[str, Entry]]
) -> None:
    """Write one file of the history, replacing it when it is complete. Raises OSError.

    The same entries give the same bytes: programs are sorted by ID, traces newest first.
    """
    versions = {version: releases[version] for version in newest_first(releases)}
    lines = [
        {"id": identifier, "source": entry.source, "traces": _sorted(entry)}
        for identifier, entry in sorted(entries)
        if entry.shown
    ]
    Part.write(path, {"versions": versions}, lines, preset=9)


def release(version: str) -> tuple[str, str]:
    """The minor version and the release of a version of torch: 2.6 and 2.6.0 of 2.6.0+cu124.

    Raises ValueError for a text that is no version.
    """
    if (found := minor(version)) is None:
        raise ValueError(f"{version!r} is no version of torch")
    return found, version.partition("+")[0]


def _sorted(entry: Entry) -> list[dict[str, Any]]:
    newest = {version: place for place, version in enumerate(entry.versions)}
    shown = sorted(entry.shown, key=lambda one: newest[one.versions[0]])
    return [one.to_json() for one in shown]
