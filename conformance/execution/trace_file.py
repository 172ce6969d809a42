"""Files of traces: JSON Lines with a header and then a line per program, by its ID.

They are compressed if their names end in `.xz`. Recordings and the parts of the history are such
files; each line is parsed when it is asked for.
"""

from __future__ import annotations

import json
import lzma
import os
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, ClassVar

from conformance.backends import BackendError
from conformance.base import compressed
from conformance.base.forms import check
from conformance.base.json_lines import dumps
from conformance.base.outputs import replacing

_FIRST_KEY = b'{"id":'


class RecordingError(BackendError):
    """A recording cannot be read, or was made with other settings; names the file."""


class TraceFile:
    """A file of one `kind`, which its header names, and whose lines are about `units`."""

    kind: ClassVar[str]
    schema: ClassVar[int]
    form: ClassVar[type]
    """The form of a header."""
    units: ClassVar[str]
    refused: ClassVar[str]
    """The words for a line that does not begin with an ID."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        """Raises RecordingError for a file that is missing, damaged, cut, or something else."""
        self.path = Path(path)
        lines = self._content(self.path)
        line = next(lines, b"")
        self.header = self.read_header(self.path, line)
        self._lines: dict[str, tuple[int, bytes]] = {}
        for number, line in enumerate(lines, start=2):
            identifier = self._id(line, number)
            if identifier in self._lines:
                raise RecordingError(f"{self.path}:{number}: {identifier} is in it twice.")
            self._lines[identifier] = number, line.removesuffix(b"\n")
        missing = self.header["programs"] - len(self._lines)
        if missing or not line.endswith(b"\n"):
            raise RecordingError(
                f"{self.path}: the {self.kind} breaks off: of its {self.header['programs']:,} "
                f"{self.units} {max(missing, 1):,} are missing."
            )

    def __contains__(self, identifier: str) -> bool:
        return identifier in self._lines

    def ids(self) -> list[str]:
        """The IDs of the recorded programs, in the file's order."""
        return list(self._lines)

    @classmethod
    def _content(cls, path: Path) -> Iterator[bytes]:
        try:
            yield from compressed.lines(path)
        except compressed.Unreadable as error:
            raise RecordingError(f"{path}: the {cls.kind} cannot be read: {error}.") from None

    @classmethod
    def first_header(cls, path: Path) -> dict[str, Any]:
        """The header of a file, of which nothing else is read; raises RecordingError."""
        return cls.read_header(path, next(cls._content(path), b""))

    @classmethod
    def read_header(cls, path: Path, line: bytes) -> dict[str, Any]:
        """The header in a line, checked; raises RecordingError."""
        try:
            header = json.loads(line)
            if not isinstance(header, dict) or header.get("type") != cls.kind:
                raise ValueError("its type is another")
            if type(schema := header.get("schema")) is not int or schema != cls.schema:
                raise RecordingError(
                    f"{path}: the {cls.kind}'s format is {str(schema)[:20]}, which this suite does "
                    f"not read; it reads {cls.schema}."
                )
            check(header, cls.form)
        except (ValueError, RecursionError) as error:
            raise RecordingError(f"{path}:1: not the header of a {cls.kind}: {error}.") from None
        return header

    def _id(self, line: bytes, number: int) -> str:
        end = line.find(b",", len(_FIRST_KEY))
        try:
            identifier = json.loads(line[len(_FIRST_KEY) : end])
            if not line.startswith(_FIRST_KEY) or not isinstance(identifier, str):
                raise ValueError
            return identifier
        except (ValueError, RecursionError):
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
