"""Files that the suite writes: each takes the place of an earlier one at once, when it is whole."""

from __future__ import annotations

import errno
import os
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

_KINDS = (
    (stat.S_ISDIR, "a directory"),
    (stat.S_ISCHR, "a device"),
    (stat.S_ISBLK, "a device"),
    (stat.S_ISFIFO, "a pipe"),
    (stat.S_ISSOCK, "a socket"),
)

_PROBE = 1 << 16
"""Bytes that a file is tried with: a full disk takes an empty file."""


class OutputError(Exception):
    """A file could not be written; the text names it and the reason."""


def reason(error: OSError) -> str:
    """The reason of an error in words: `No space left on device`."""
    return error.strerror or str(error)


@contextmanager
def writing(path: str | os.PathLike[str]) -> Iterator[None]:
    """Convert an OSError of the block, which writes to ``path``, into OutputError."""
    try:
        yield
    except OSError as error:
        raise OutputError(f"{os.fspath(path)}: cannot be written: {reason(error)}.") from error


@contextmanager
def replacing(path: str | os.PathLike[str], durable: bool = True) -> Iterator[BinaryIO]:
    """A new file that takes the place of the one at ``path`` when the block ends without error.

    Readers see the former file or the new one, never a part. Missing folders are made, a symbolic
    link is followed, and the permissions stay. A file that is not ``durable`` may be lost where the
    machine fails soon after. Raises OSError, for a path to anything but a regular file as well, and
    leaves the former file as it is.
    """
    target = regular(path)
    target.parent.mkdir(parents=True, exist_ok=True)
    part = _part(target)
    try:
        with open(part, "xb") as file:
            yield file
            file.flush()
            if durable:
                os.fsync(file.fileno())
        with suppress(FileNotFoundError):
            os.chmod(part, stat.S_IMODE(target.stat().st_mode))
        os.replace(part, target)
    finally:
        part.unlink(missing_ok=True)


def write_text(path: str | os.PathLike[str], text: str, durable: bool = True) -> Path:
    """Replace a file by this text in UTF-8, lone surrogates escaped; raises OSError."""
    with replacing(path, durable) as file:
        file.write(text.encode("utf-8", "backslashreplace"))
    return Path(path)


def regular(path: str | os.PathLike[str]) -> Path:
    """The regular file that a path leads to, which need not exist yet.

    Raises OSError for a directory, device, pipe or socket: nothing can take its place.
    """
    with suppress(FileNotFoundError):
        mode = os.stat(path).st_mode
        for is_kind, kind in _KINDS:
            if is_kind(mode):
                raise OSError(errno.EINVAL, f"it is {kind}, not a file")
    return Path(os.path.realpath(path))


def try_writing(path: str | os.PathLike[str]) -> None:
    """Raise OSError when no file can be written there; an existing file stays as it is."""
    target = regular(path)
    target.parent.mkdir(parents=True, exist_ok=True)
    if target.exists() and not os.access(target, os.W_OK):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
    part = _part(target)
    try:
        with open(part, "xb") as file:
            file.write(bytes(_PROBE))
    finally:
        part.unlink(missing_ok=True)


def _part(target: Path) -> Path:
    """A new file beside the target, whose own name may be as long as names can be."""
    return target.with_name(f".conform-{os.getpid()}-{secrets.token_hex(4)}.tmp")
