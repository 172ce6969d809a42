"""Reader of a directory of run files: a digest of each run, and the files that are unreadable."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import msgspec

from conformance.run_files.changes import Standing
from conformance.run_files.run import RunError
from reports.dashboard.digest import FORMAT, Digest, Roster, digest, file_hash
from reports.dashboard.store import Store

SUFFIXES = (".jsonl", ".jsonl.gz")


class ArchiveError(Exception):
    """A directory contains no run files; the message names the missing path."""


class StoreError(ArchiveError):
    """An entry of the store is missing or damaged; the other entries stay usable."""


@dataclass(frozen=True)
class Unreadable:
    """The reason why a file is not a run file."""

    message: str


@dataclass(frozen=True)
class Problem:
    """A file of the directory that is no run file, or a duplicate; the others are still read."""

    file: str
    message: str

    def __str__(self) -> str:
        return f"{self.file}: {self.message}"


@dataclass(frozen=True, eq=False)
class ArchivedRun:
    """One run of the archive: its digest, and the name of its file."""

    digest: Digest
    file: str
    archive: Archive

    @property
    def id(self) -> str:
        """The run's ID from its header, stable across builds, so that links to it stay valid."""
        return self.digest.run

    @property
    def version(self) -> str:
        """The versions of backend and oracle: a change of either may cause a divergence."""
        of = (self.digest.backend, self.digest.oracle)
        return " / ".join((side.version or "–").partition("+")[0] for side in of)

    @cached_property
    def moment(self) -> str:
        """The start time in UTC as sortable ISO text; the header's text if it is not a time."""
        try:
            began = datetime.fromisoformat(self.digest.started)
        except ValueError:
            return self.digest.started
        return (began if began.tzinfo else began.replace(tzinfo=UTC)).astimezone(UTC).isoformat()

    def programs(self) -> Iterator[tuple[str, str, Standing]]:
        """The ID, area and standing of every program."""
        table = self.digest.standings
        for area, part in self.digest.parts.items():
            ids = self.archive.roster(part.roster).ids
            for name, number in zip(ids, part.standings, strict=True):
                yield name, area, table[number]

    def standings(self) -> dict[str, Standing]:
        """The standing of each program, by its ID."""
        return {name: standing for name, _, standing in self.programs()}


class Archive:
    """The runs of a directory in order of time, and the files that are not run files."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self.runs: list[ArchivedRun] = []
        self.problems: list[Problem] = []
        self._rosters: dict[str, Roster] = {}

    def roster(self, name: str) -> Roster:
        """The roster with this name in the store: the programs of one area of a run."""
        if name not in self._rosters:
            found = self._kept(name, Roster)
            if not self.store.has(found.sources):
                raise StoreError(f"{self.store.folder}: {found.sources} was taken away.")
            self._rosters[name] = found
        return self._rosters[name]

    def sources(self, roster: Roster) -> list[str]:
        """The sources of a roster's programs."""
        return self._kept(roster.sources, list[str])

    def _kept(self, name: str, kind: Any) -> Any:
        content = self.store.get(name)
        if content is None:
            raise StoreError(f"{self.store.folder}: {name} was taken away, or is damaged.")
        return msgspec.json.decode(content, type=kind)

    def is_whole(self, found: Digest) -> bool:
        """Whether the store has every roster that the digest refers to."""
        try:
            for part in found.parts.values():
                if len(self.roster(part.roster).ids) != len(part.standings):
                    return False
        except (StoreError, msgspec.DecodeError):
            return False
        return True


def read_archive(
    folder: Path, store: Store, processes: int = 0, tell: Callable[[str], None] = lambda _: None
) -> Archive:
    """Read the run files under `folder`; digests already in the store are reused.

    With `processes` several files are digested in parallel; `tell` is called with progress texts.
    Raises ArchiveError without such a folder or any run file in it, OSError for the store.
    """
    files = run_files(folder)
    archive = Archive(store)
    index = store.index() if store.index().get("format") == FORMAT else {}
    seen: dict[str, list[Any]] = dict(index.get("files", {}))
    names: dict[str, str] = dict(index.get("digests", {}))
    hashes: dict[Path, str] = {}
    for path in files:
        try:
            hashes[path] = _hash(path, seen)
        except OSError as error:
            archive.problems.append(Problem(_name(path, folder), f"cannot be read: {error}."))
    found = {path: _known(archive, names.get(hashes[path])) for path in hashes}
    wanted = [path for path, known in found.items() if known is None]
    for number, (path, made) in enumerate(_digested(wanted, store, processes), start=1):
        tell(f"read {number:,} of {len(wanted):,} new run files")
        if isinstance(made, Unreadable):
            archive.problems.append(Problem(_name(path, folder), made.message))
        else:
            names[hashes[path]] = made
            found[path] = _known(archive, made)
            if found[path] is None:
                raise StoreError(f"{store.folder}: {made} was taken away, or is damaged.")
    _gather(archive, {_name(path, folder): known for path, known in found.items() if known})
    # The index covers this folder only; the store's entries of other folders stay.
    store.write_index({"format": FORMAT, "files": seen, "digests": names})
    archive.problems.sort(key=lambda problem: problem.file)
    return archive


def run_files(folder: Path) -> list[Path]:
    """The run files under a folder, sorted by name. Raises ArchiveError if there are none."""
    if not folder.is_dir():
        raise ArchiveError(f"{folder}: no such directory.")
    found = sorted(
        path for path in folder.rglob("*") if path.name.endswith(SUFFIXES) and path.is_file()
    )
    if not found:
        raise ArchiveError(
            f"{folder}: no run file (*.jsonl or *.jsonl.gz) is in this directory; "
            "`conform run --run-file` writes one."
        )
    return found


def _name(path: Path, folder: Path) -> str:
    name = path.relative_to(folder).as_posix()
    return name.encode("utf-8", "backslashreplace").decode("utf-8")


def _hash(path: Path, seen: dict[str, list[Any]]) -> str:
    """The hash of a file's content, cached by the file's path, size and modification time."""
    place = os.fsencode(path.resolve()).decode("utf-8", "backslashreplace")
    stat = path.stat()
    match seen.get(place):
        case [stat.st_size, stat.st_mtime_ns, str() as known]:
            return known
    made = file_hash(path)
    seen[place] = [stat.st_size, stat.st_mtime_ns, made]
    return made


def _known(archive: Archive, name: str | None) -> Digest | None:
    content = None if name is None else archive.store.get(name)
    if content is None:
        return None
    with suppress(msgspec.DecodeError):
        known = msgspec.json.decode(content, type=Digest)
        if archive.is_whole(known):
            return known
    return None


def _digested(
    paths: list[Path], store: Store, processes: int
) -> Iterator[tuple[Path, str | Unreadable]]:
    one = partial(_digest_or_error, store=store)
    if processes < 2 or len(paths) < 2:
        yield from zip(paths, map(one, paths), strict=True)
        return
    with ProcessPoolExecutor(min(processes, len(paths))) as pool:
        yield from zip(paths, pool.map(one, paths), strict=True)


def _digest_or_error(path: Path, store: Store) -> str | Unreadable:
    try:
        return digest(path, store)
    except RunError as error:
        return Unreadable(f"line {error.line}: {error.message}" if error.line else error.message)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        # The fields are present with the right types, but their contents violate the schema.
        return Unreadable(f"not the shape of a run: {type(error).__name__}: {error}.")


def _gather(archive: Archive, found: dict[str, Digest]) -> None:
    files: dict[str, str] = {}
    for file, known in found.items():
        if known.run in files:
            archive.problems.append(
                Problem(
                    file, f"run {known.run} is in {files[known.run]} too; this one is left out."
                )
            )
            continue
        files[known.run] = file
        archive.runs.append(ArchivedRun(known, file, archive))
    archive.runs.sort(key=lambda run: (run.moment, run.id))
