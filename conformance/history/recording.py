"""Recording of one version of torch into the history."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from itertools import groupby
from pathlib import Path

from conformance.compare.compare import compare
from conformance.execution.history import ENDING, Entry, Part, Shown, part_of, write_part
from conformance.execution.recordings import fingerprint, settled
from conformance.isolation.process import Died, IsolationError
from conformance.observe.trace import Trace
from conformance.program.program import Program


@dataclass
class Recorded:
    """The result of recording a version: programs counted, and the sizes of the files."""

    same: int = 0
    """Programs whose trace the history already had, of this version or of another."""
    new: int = 0
    """Programs whose trace no other recorded version shows."""
    died: dict[str, str] = field(default_factory=dict)
    failed: dict[str, str] = field(default_factory=dict)
    sizes: dict[str, int] = field(default_factory=dict)

    @property
    def programs(self) -> int:
        """The number of programs recorded."""
        return self.same + self.new


def record_version(
    folder: Path,
    version: str,
    release: str,
    programs: Iterable[Program],
    trace: Callable[[Program], Trace],
) -> Recorded:
    """Record the traces of one version into the history in `folder`, which is made if missing.

    A trace that agrees with one in the history, at every level and within the tolerances, counts
    as that one: the files do not depend on the machine's rounding, and recording a version twice
    changes nothing. Traces of another text of a program are dropped. Raises RecordingError for a
    damaged file, OSError for one that cannot be written.
    """
    result = Recorded()
    for name, members in groupby(sorted(programs, key=_place), key=part_of):
        path = folder / f"{name}{ENDING}"
        old = Part(path) if path.exists() else None
        releases = {**(old.releases if old else {}), version: release}
        entries = {name: old.entry(name) for name in old.ids()} if old else {}
        for program in members:
            entry = entries.get(program.id)
            if entry is None or entry.source != fingerprint(program):
                entry = entries[program.id] = Entry(fingerprint(program))
            _record(entry, version, program, trace, result)
        folder.mkdir(parents=True, exist_ok=True)
        write_part(path, releases, entries.items())
        result.sizes[name] = path.stat().st_size
    return result


def _place(program: Program) -> tuple[str, str]:
    return part_of(program), program.id


def _record(
    entry: Entry,
    version: str,
    program: Program,
    trace: Callable[[Program], Trace],
    result: Recorded,
) -> None:
    former = entry.of(version)
    died: str | None = None
    found: Trace | None = None
    try:
        found = settled(program, trace(program))
    except Died as error:
        died = error.cause
        result.died[program.id] = died
    except IsolationError as error:
        result.failed[program.id] = str(error)
        return
    _forget(entry, version)
    # The version's own former trace comes first: it stays while the new one agrees with it.
    others = sorted(entry.shown, key=lambda shown: shown is not former)
    for shown in others:
        if _agrees(shown, found, died, program):
            shown.versions = (*shown.versions, version)
            result.same += 1
            break
    else:
        entry.shown.append(Shown((version,), found, died))
        result.new += 1
    entry.shown = [shown for shown in entry.shown if shown.versions]
    for shown in entry.shown:
        shown.versions = tuple(v for v in entry.versions if v in shown.versions)


def _forget(entry: Entry, version: str) -> None:
    """Take the version from its trace, which stays for now, to be compared with."""
    for shown in entry.shown:
        shown.versions = tuple(one for one in shown.versions if one != version)


def _agrees(shown: Shown, found: Trace | None, died: str | None, program: Program) -> bool:
    if shown.trace is None or found is None:
        return shown.trace is found and shown.died == died
    verdict = compare(shown.trace, found, program, stated=False, permitting=False)
    return verdict.outcome == "conforms"
