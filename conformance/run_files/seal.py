"""Checksums of a run file: one in each line, and one of the whole file in its footer.

A line ends with `,"crc":"89abcdef"}`: the CRC-32 of the line as it is without that field. A byte
that was changed is found where it stands; lines that are lost, moved or added make another digest.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Mapping
from typing import Any

from conformance.base.json_lines import dumps

_SEAL = re.compile(rb',"crc":"([0-9a-f]{8})"\}\Z')


def sealed(line: Mapping[str, Any]) -> bytes:
    """A line of a run file with its checksum, and its end; the same line gives the same bytes."""
    # A lone surrogate (a backend may print one) becomes its JSON escape, \udc80.
    return seal(dumps(line).encode("utf-8", "backslashreplace")) + b"\n"


def seal(text: bytes) -> bytes:
    """The text of a JSON object, with its checksum."""
    return b'%b,"crc":"%08x"}' % (text[:-1], zlib.crc32(text))


def unsealed(text: bytes) -> tuple[bytes, bool | None]:
    """A line without its checksum, and whether that is right; None if there is none."""
    found = _SEAL.search(text, max(0, len(text) - 18))
    if found is None:
        return text, None
    plain = text[: found.start()] + b"}"
    return plain, int(found[1], 16) == zlib.crc32(plain)
