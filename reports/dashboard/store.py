"""A content-addressed store that caches digests between builds."""

from __future__ import annotations

import gzip
import hashlib
import json
import zlib
from contextlib import suppress
from pathlib import Path
from typing import Any

from conformance.base.outputs import replacing, write_text


class Store:
    """A folder of gzipped texts, each named by its hash: concurrent writers cannot conflict.

    Its index maps the hash of a run file to the name of its digest, and a file's path, size and
    modification time to its hash.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def put(self, content: bytes) -> str:
        """Store `content` and return its name. Raises OSError."""
        name = hashlib.sha256(content).hexdigest()[:32]
        path = self._path(name)
        if not path.exists():
            with replacing(path, durable=False) as file:
                file.write(gzip.compress(content, compresslevel=3, mtime=0))
        return name

    def has(self, name: str) -> bool:
        """Whether `name` is in the store, damaged or not."""
        return self._path(name).exists()

    def get(self, name: str) -> bytes | None:
        """The content of `name`; None if it is missing, or damaged, in which case it is removed."""
        path = self._path(name)
        try:
            content = gzip.decompress(path.read_bytes())
            if hashlib.sha256(content).hexdigest()[:32] == name:
                return content
        except FileNotFoundError:
            return None
        except (OSError, EOFError, zlib.error):
            pass
        with suppress(OSError):
            path.unlink()
        return None

    def repair(self) -> None:
        """Remove all damaged entries."""
        for path in self.folder.glob("??/*.json.gz"):
            self.get(path.name.removesuffix(".json.gz"))

    def index(self) -> dict[str, Any]:
        """The index as last written; empty if there is none."""
        try:
            found = json.loads((self.folder / "index.json").read_text("utf-8"))
        except (OSError, ValueError):
            return {}
        return found if isinstance(found, dict) else {}

    def write_index(self, index: dict[str, Any]) -> None:
        """Replace the index. The last writer wins: lost entries are computed again."""
        write_text(self.folder / "index.json", json.dumps(index, indent=0))

    def _path(self, name: str) -> Path:
        return self.folder / name[:2] / f"{name}.json.gz"
