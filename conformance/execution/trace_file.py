"""Files of traces: JSON Lines with a header and then a line per program, by its ID.

They are compressed if their names end in `.xz`. Recordings and the parts of the history are such
files; each line is parsed when it is asked for.
"""

from __future__ import annotations

import json
import lzma
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, ClassVar

from conformance.backends import BackendError
from conformance.base.json_lines import dumps
from conformance.base.outputs import replacing

_FIRST_KEY = b'{"id":'
_UNREADABLE = (OSError, EOFError, lzma.LZMAError)


class RecordingError(BackendError):
    """A recording cannot be read, or was made with other settings; names the file."""


class TraceFile:
    """A file of one `kind`, which its header names, and whose lines are about `units`."""

    kind: ClassVar[str]
    schema: ClassVar[int]
    keys: ClassVar[frozenset[str]]
    """The keys that a header needs besides its type and schema."""
    units: ClassVar[str]
    refused: ClassVar[str]
    """The words for a line that does not begin with an ID."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        """Raises RecordingError for a file that is missing, damaged, cut, or something else."""
        self.path = Path(path)
        lines = self._content().split(b"\n")
        self.header = self.read_header(self.path, lines[0])
        self._lines: dict[str, tuple[int, bytes]] = {}
        for number, line in enumerate(lines[1:], start=2):
            if line:
                self._lines[self._id(line, number)] = number, line
        if (missing := self.header["programs"] - len(self._lines)) or lines[-1]:
            raise RecordingError(
                f"{self.path}: the {self.kind} breaks off: of its {self.header['programs']:,} "
                f"{self.units} {max(missing, 1):,} are missing."
            )

    def __contains__(self, identifier: str) -> bool:
        return identifier in self._lines

    def ids(self) -> list[str]:
        """The IDs of the recorded programs, in the file's order."""
        return list(self._lines)

    def _content(self) -> bytes:
        try:
            content = self.path.read_bytes()
            return lzma.decompress(content) if self.path.suffix == ".xz" else content
        except _UNREADABLE as error:
            raise self._unreadable(self.path, error) from None

    @classmethod
    def _unreadable(cls, path: Path, error: Exception) -> RecordingError:
        reason = getattr(error, "strerror", None) or str(error)
        return RecordingError(f"{path}: the {cls.kind} cannot be read: {reason}.")

    @classmethod
    def first_header(cls, path: Path) -> dict[str, Any]:
        """The header of a compressed file, of which nothing else is read; raises RecordingError."""
        try:
            with lzma.open(path) as file:
                line = file.readline()
        except _UNREADABLE as error:
            raise cls._unreadable(path, error) from None
        return cls.read_header(path, line)

    @classmethod
    def read_header(cls, path: Path, line: bytes) -> dict[str, Any]:
        """The header in a line, checked; raises RecordingError."""
        try:
            header = json.loads(line)
            if header["type"] != cls.kind:
                raise ValueError("its type is another")
            if header["schema"] != cls.schema:
                raise RecordingError(
                    f"{path}: the {cls.kind}'s format is {header['schema']}, which this suite does "
                    f"not read; it reads {cls.schema}."
                )
            if missing := {*cls.keys, "programs"} - header.keys():
                raise ValueError(f"it has no {min(missing)}")
            cls.check_header(header)
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise RecordingError(f"{path}:1: not the header of a {cls.kind}: {error}.") from None
        return header

    @classmethod
    def check_header(cls, header: Mapping[str, Any]) -> None:
        """Raise ValueError, TypeError or AttributeError for values that a header cannot have."""

    def _id(self, line: bytes, number: int) -> str:
        end = line.find(b",", len(_FIRST_KEY))
        try:
            if not line.startswith(_FIRST_KEY):
                raise ValueError
            return str(json.loads(line[len(_FIRST_KEY) : end]))
        except ValueError:
            raise RecordingError(f"{self.path}:{number}: {self.refused}.") from None

    @classmethod
    def write(
        cls,
        path: Path,
        header: Mapping[str, Any],
        lines: Iterable[Mapping[str, Any]],
        preset: int | None = None,
    ) -> None:
        """Write a file of these lines, replacing it when it is complete. Raises OSError.

        `preset` is that of lzma. The same lines give the same bytes.
        """
        texts = [dumps(line) for line in lines]
        head = {"type": cls.kind, "schema": cls.schema, **header, "programs": len(texts)}
        content = "\n".join([dumps(head), *texts, ""]).encode("utf-8", "backslashreplace")
        if path.suffix == ".xz":
            content = lzma.compress(content, preset=preset)
        with replacing(path) as file:
            file.write(content)
