"""The lock of a run file: two runs that wrote to one file would lose the lines of one of them."""

from __future__ import annotations

import errno
import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from conformance.base.outputs import regular

_UNSUPPORTED = (errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP)
"""Errors of file systems, such as some of clusters, that have no locks."""


class Locked(Exception):
    """Another process writes the run file; the text names both."""


@contextmanager
def locked(path: str | os.PathLike[str] | None) -> Iterator[None]:
    """Keep a run file for this process until the block ends, if a file is given.

    The lock is that of a file beside the run file, `.NAME.lock`, which is there for the time of the
    block. It ends with the process, however that ends. Where the file system has no locks there is
    none. Raises Locked, OSError.
    """
    if path is None:
        yield
        return
    target = regular(path)
    target.parent.mkdir(parents=True, exist_ok=True)
    beside = target.with_name(f".{target.name}.lock")
    descriptor = _lock(beside, path)
    try:
        yield
    finally:
        # Before the lock ends: the next process makes a file of its own.
        beside.unlink(missing_ok=True)
        os.close(descriptor)


def _lock(beside: Path, path: str | os.PathLike[str]) -> int:
    while True:
        descriptor = os.open(beside, os.O_RDWR | os.O_CREAT, 0o666)
        try:
            _take(descriptor, path)
            if _is_there(descriptor, beside):
                os.truncate(descriptor, 0)
                os.write(descriptor, f"{os.getpid()}\n".encode())
                return descriptor
        except BaseException:
            os.close(descriptor)
            raise
        os.close(descriptor)  # the file of a process that has just ended


def _take(descriptor: int, path: str | os.PathLike[str]) -> None:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        owner = os.pread(descriptor, 20, 0).decode("ascii", "replace").strip() or "unknown"
        raise Locked(
            f"{os.fspath(path)}: another run writes to this file (process {owner})."
        ) from None
    except OSError as error:
        if error.errno not in _UNSUPPORTED:
            raise


def _is_there(descriptor: int, beside: Path) -> bool:
    with suppress(FileNotFoundError):
        return os.path.samestat(os.fstat(descriptor), os.stat(beside))
    return False
