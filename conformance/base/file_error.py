"""The error for a file that cannot be read, with its place as compilers write it."""

from __future__ import annotations

import os


class FileError(Exception):
    """A malformed file: the message is ``file:line: reason``, or ``file: reason`` without a line.

    The file is ``<program>`` for source that comes from none.
    Its kinds are ProgramError, ChapterError, WholeProgramError, KnownError and RunError.
    """

    def __init__(self, file: str | os.PathLike[str] | None, line: int | None, message: str) -> None:
        self.file = os.fspath(file or "<program>")
        self.line, self.message = line, message
        super().__init__(f"{self.file}:{line}: {message}" if line else f"{self.file}: {message}")
