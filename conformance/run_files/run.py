"""A run as read from its file, and the errors of damaged files."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from conformance.base import schemas
from conformance.base.file_error import FileError
from conformance.base.levels import LEVELS

SCHEMA = 3
"""Version of the run file's format; it changes when an older reader would misread a newer file.
The second one has the outcome `other_version`, the third one checksums."""

SEALED = 3
"""The first version with checksums."""

READ = (1, 2, 3)
"""The versions of the format that are read."""


class RunError(FileError):
    """A run file cannot be read."""


class NotARun(RunError):
    """The file is missing, empty, or not a run file."""


class WrongSchema(RunError):
    """The run file was written in a version of the format that this reader does not know."""


class Truncated(RunError):
    """The last line breaks off: the run was cut while it was being written or copied."""


class Malformed(RunError):
    """A line in the middle of the file does not conform to the format."""


class Duplicate(RunError):
    """A program, the header or the footer occurs twice."""


class Altered(RunError):
    """A line is not as it was written: its checksum is another, or missing."""


class Mismatched(RunError):
    """The footer's totals or checksum are not those of the lines above it."""


@dataclass(frozen=True)
class Run:
    """A run as it was read: header, one mapping per program in the file's order, footer."""

    header: dict[str, Any]
    programs: list[dict[str, Any]]
    footer: dict[str, Any] | None
    path: Path | None = None

    @property
    def complete(self) -> bool:
        """Whether the run was completed; an interrupted run has no footer."""
        return self.footer is not None

    @property
    def levels(self) -> tuple[str, ...]:
        """The levels that counted for pass or fail in this run."""
        return tuple(self.header.get("selection", {}).get("levels") or LEVELS)

    def program(self, identifier: str) -> dict[str, Any]:
        """The line of one program; raises KeyError when the run has none of that ID."""
        for line in self.programs:
            if line["id"] == identifier:
                return line
        raise KeyError(identifier)


def schema() -> dict[str, Any]:
    """The JSON Schema (2020-12) that each line of a run file meets."""
    return schemas.schema("run")
