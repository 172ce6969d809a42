"""Results that are kept between processes, as long as the files that they were made from last.

Reading the suite takes seconds, and every command and every process of a run needs it.
"""

from __future__ import annotations

import functools
import hashlib
import os
import struct
import sys
import zlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from conformance.base.garbage import uncollected
from conformance.base.outputs import replacing

T = TypeVar("T")

_COMPLEX = struct.Struct("<dd")
_CHECKSUM = struct.Struct("<I")


def cache_folder(name: str) -> Path:
    """The folder for the results that the commands keep under this name; it need not exist yet."""
    home = os.environ.get("XDG_CACHE_HOME") or Path(os.path.expanduser("~"), ".cache")
    return Path(home, "autograd-conformance", name)


def kept(name: str, kind: type[T], sources: Iterable[Path], make: Callable[[], T]) -> T:
    """The result of ``make``, of the type ``kind``: made now, or before from the same sources.

    A source is a file, or a folder with all files in it; ``make`` reads nothing else. Where nothing
    can be kept, or it is damaged, the result is made.
    """
    sources = list(sources)
    place = hashlib.blake2b(repr(sources).encode(), digest_size=8).hexdigest()
    path = cache_folder("suite") / f"{name}-{place}.msgpack"
    digest = _digest(sources)
    with suppress(OSError, ValueError, TypeError), uncollected():
        data = path.read_bytes()
        content = memoryview(data)[len(digest) + _CHECKSUM.size :]
        if data.startswith(digest + _CHECKSUM.pack(zlib.crc32(content))):
            return unpacked(content, kind)
    made = make()
    with suppress(OSError), replacing(path, durable=False) as file:
        whole = packed(made)
        file.write(digest + _CHECKSUM.pack(zlib.crc32(whole)) + whole)
    return made


def packed(value: Any) -> bytes:
    """The bytes in which a value is kept."""
    return msgspec.msgpack.encode(value, enc_hook=_plain)


def unpacked(data: bytes | memoryview | msgspec.Raw, kind: type[T]) -> T:
    """The value of this type in the bytes of `packed`; raises ValueError for others."""
    whole: Any = kind
    found: T = _decoder(whole).decode(data)
    return found


@functools.cache
def _decoder(kind: Any) -> msgspec.msgpack.Decoder[Any]:
    """The decoder for a type, which takes longer to make than most programs take to read."""
    return msgspec.msgpack.Decoder(kind, dec_hook=_built, ext_hook=_extended)


def _digest(sources: Iterable[Path]) -> bytes:
    """A digest of the sources' names and contents, and of this Python."""
    whole = hashlib.blake2b(sys.version.encode())
    for source in sources:
        for path in sorted(_files(source)):
            content = path.read_bytes()
            whole.update(f"\n{path}\n{len(content)}\n".encode())
            whole.update(content)
    return whole.digest()


def _files(source: Path) -> Iterator[Path]:
    if not source.is_dir():
        yield source
        return
    for folder, below, names in os.walk(source):
        below[:] = [name for name in below if name != "__pycache__"]
        yield from (Path(folder, name) for name in names)


def _plain(value: Any) -> Any:
    if isinstance(value, complex):
        return msgspec.msgpack.Ext(0, _COMPLEX.pack(value.real, value.imag))
    if isinstance(value, Path):
        return str(value)
    raise NotImplementedError(f"a {type(value).__name__} cannot be kept")


def _built(kind: type, value: Any) -> Any:
    return kind(value)


def _extended(code: int, data: memoryview) -> complex:
    return complex(*_COMPLEX.unpack(data))
