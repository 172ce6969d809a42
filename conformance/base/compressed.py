"""Reading of files, plain or compressed, line by line and within limits.

A few hundred kilobytes can be the compressed form of gigabytes: limits hold for what comes out.
"""

from __future__ import annotations

import gzip
import io
import lzma
import os
import zlib
from collections.abc import Iterator
from typing import IO, Any

LONGEST_LINE = 1 << 29
"""Bytes of the longest line that is read."""

VARIABLE = "CONFORM_LARGEST_FILE"
"""The environment variable with the bytes of the largest file that is read, decompressed."""

LARGEST = 1 << 31
"""Its value where it is not set."""

MEMORY = 1 << 27
"""Bytes of memory that the decompression of xz may take. Its dictionary has the size that the file
names, up to 4 GiB; that of the highest level has 64 MiB."""

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
    return io.BufferedReader(_XzReader(file)) if start.startswith(_XZ) else file


class _XzReader(io.RawIOBase):
    """Streams of xz as they are decompressed within MEMORY, for which `lzma.open` has no limit."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self._decoder = self._decoder_of_stream()

    @staticmethod
    def _decoder_of_stream() -> lzma.LZMADecompressor:
        return lzma.LZMADecompressor(lzma.FORMAT_XZ, MEMORY)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any, /) -> int:
        """Fill the buffer; 0 at the end. Raises EOFError for a stream that breaks off, LZMAError
        for one that is damaged or needs more memory."""
        with memoryview(buffer) as view:
            while True:
                given = b""
                if self._decoder.eof:
                    given = self._decoder.unused_data or self._file.read(1 << 16)
                    if not given:
                        return 0
                    self._decoder = self._decoder_of_stream()
                elif self._decoder.needs_input and not (given := self._file.read(1 << 16)):
                    raise EOFError
                if data := self._decoder.decompress(given, len(view)):
                    view[: len(data)] = data
                    return len(data)


def _largest() -> int:
    text = os.environ.get(VARIABLE, "")
    return int(text) if text.isdecimal() and len(text) < 19 else LARGEST
