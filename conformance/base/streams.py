"""The standard streams of a command: nothing on them is acted on, and no failure of theirs ends it.

Everything that a command prints passes through here, texts of backends among it.
"""

from __future__ import annotations

import errno
import io
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import TextIO

from conformance.base.escapes import without_commands, without_controls
from conformance.base.outputs import reason


class Stream(io.TextIOBase):
    """A stream that escapes texts, and goes silent where they cannot be written.

    ``faults`` has the reasons. A reader that closes its pipe, as in `conform list | head`, is none.
    """

    def __init__(
        self,
        file: TextIO | None,
        escape: Callable[[str], str] = without_controls,
        faults: list[OSError] | None = None,
    ) -> None:
        self.file, self._escape = file, escape
        self.faults: list[OSError] = [] if faults is None else faults
        self._starts = True  # the line, but for blanks
        if file is None:
            self.faults.append(OSError(errno.EBADF, "it is closed"))

    @property
    def encoding(self) -> str:  # type: ignore[override]
        """The encoding of the file."""
        return getattr(self.file, "encoding", None) or "utf-8"

    def writable(self) -> bool:
        return True

    def write(self, text: str) -> int:
        shown = without_commands(self._escape(text), self._starts)
        last = shown.rpartition("\n")[2]
        self._starts = (self._starts or "\n" in shown) and not last.strip()
        # Such as an ASCII terminal.
        shown = shown.encode(self.encoding, "backslashreplace").decode(self.encoding)
        self._try(lambda file: file.write(shown))
        return len(text)

    def flush(self) -> None:
        self._try(lambda file: file.flush())

    def isatty(self) -> bool:
        return self.file is not None and self.file.isatty()

    def fileno(self) -> int:
        if self.file is None:
            raise io.UnsupportedOperation("fileno")
        return self.file.fileno()

    def styled(self) -> Stream:
        """The same stream for texts that were escaped, and then styled with control characters."""
        return Stream(self.file, str, self.faults)

    @contextmanager
    def duplicate(self) -> Iterator[Stream]:
        """A stream to where this one leads now, even while its descriptor leads elsewhere."""
        self.flush()
        try:
            descriptor = os.dup(self.fileno())
        except OSError:  # one of Python's own, without a descriptor
            yield self
            return
        with open(descriptor, "w", encoding=self.encoding, errors="replace") as file:
            stream = Stream(file, self._escape, self.faults)
            yield stream
            stream.flush()

    def _try(self, do: Callable[[TextIO], object]) -> None:
        if self.file is None:
            return
        try:
            do(self.file)
        except OSError as error:
            if error.errno != errno.EPIPE:
                self.faults.append(error)
            _silence(self.file)


@contextmanager
def standard_streams() -> Iterator[list[str]]:
    """Let standard output and standard error be Streams; yields what becomes a list of faults.

    A fault is a sentence about an output that could not be written; it is there at the end.
    """
    _open_descriptors()
    before = sys.stdout, sys.stderr
    out, err = Stream(sys.stdout), Stream(sys.stderr)
    sys.stdout, sys.stderr = out, err  # type: ignore[assignment]
    faults: list[str] = []
    try:
        yield faults
    finally:
        out.flush()
        if out.faults:
            faults.append(f"standard output could not be written: {reason(out.faults[0])}")
        for fault in faults:
            print(f"conform: {fault}", file=err)
        err.flush()
        sys.stdout, sys.stderr = before


def _silence(file: TextIO) -> None:
    """Lead the file's descriptor to nowhere, with all that is still in its buffer."""
    with suppress(OSError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, file.fileno())
        os.close(nowhere)


def _open_descriptors() -> None:
    """Open those of the descriptors 0 to 2 that are closed: files opened later would get them."""
    for descriptor in range(3):
        try:
            os.fstat(descriptor)
        except OSError:
            nowhere = os.open(os.devnull, os.O_RDWR)
            if nowhere != descriptor:
                os.dup2(nowhere, descriptor)
                os.close(nowhere)
