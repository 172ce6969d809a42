"""Reading of files, plain or compressed, line by line and within limits.

A few hundred kilobytes can be the compressed form of gigabytes: limits hold for what comes out.
"""

from __future__ import annotations

import gzip
import lzma
import os
import zlib
from collections.abc import Iterator
from typing import IO

LONGEST_LINE = 1 << 29
"""Bytes of the longest line that is read."""

VARIABLE = "CONFORM_LARGEST_FILE"
"""The environment variable with the bytes of the largest file that is read, decompressed."""

LARGEST = 1 << 31
"""Its value where it is not set."""

_GZIP, _XZ = b"\x1f\x8b", b"\xfd7zXZ\x00"


class Unreadable(Exception):
    """A file cannot be read, or is damaged or too large; the text is the reason."""


class BreaksOff(Unreadable):
    """A compressed file ends before its content does."""


def lines(path: str | os.PathLike[str]) -> Iterator[bytes]:
    """The lines of a file, each with its end, as they are decompressed (gzip and xz).

    Raises Unreadable, also after some lines.
    """
    largest = _largest()
    read = 0
    try:
        with open(path, "rb") as plain, _decompressed(plain) as file:
            while line := file.readline(min(LONGEST_LINE, largest) + 1):
                read += len(line)
                if read > largest:
                    raise Unreadable(f"it has more than {largest:,} bytes (see {VARIABLE})")
                if len(line) > LONGEST_LINE:
                    raise Unreadable(f"a line has more than {LONGEST_LINE:,} bytes")
                yield line
    except EOFError:
        raise BreaksOff("the compressed file breaks off: it was cut") from None
    except (gzip.BadGzipFile, zlib.error, lzma.LZMAError) as error:
        raise Unreadable(f"the compressed file is damaged: {error}") from None
    except OSError as error:
        raise Unreadable(f"cannot be read: {error.strerror or error}") from None


def _decompressed(file: IO[bytes]) -> IO[bytes]:
    start = file.peek(len(_XZ))  # type: ignore[attr-defined]  # open returns a buffered reader
    if start.startswith(_GZIP):
        return gzip.open(file)  # type: ignore[return-value]
    return lzma.open(file) if start.startswith(_XZ) else file  # type: ignore[return-value]


def _largest() -> int:
    text = os.environ.get(VARIABLE, "")
    return int(text) if text.isdecimal() and len(text) < 19 else LARGEST
