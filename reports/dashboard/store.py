"""Where digests are kept between builds: files named by the hash of what is in them."""

from __future__ import annotations

import gzip
import hashlib
import json
import os
import zlib
from contextlib import suppress
from pathlib import Path
from typing import Any

from reports.page import write_atomically


class Store:
    """A folder of gzipped texts, each named by its hash: writers of the same text never contend.

    Beside them stands an index, which says of a run file's hash under which name its digest is,
    and of a file's place, size and time which hash it had.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def put(self, content: bytes) -> str:
        """Keep `content`; returns its name. Raises OSError."""
        name = hashlib.sha256(content).hexdigest()[:32]
        path = self._path(name)
        if not path.exists():
            path.parent.mkdir(parents=True, exist_ok=True)
            made = path.with_name(f"{name}.{os.getpid()}.tmp")
            made.write_bytes(gzip.compress(content, compresslevel=3, mtime=0))
            os.replace(made, path)
        return name

    def has(self, name: str) -> bool:
        """Whether something is kept under `name`, damaged or not."""
        return self._path(name).exists()

    def get(self, name: str) -> bytes | None:
        """What is kept under `name`; None where nothing is, or it is damaged (and removed then)."""
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
        """Remove everything that is damaged."""
        for path in self.folder.glob("??/*.json.gz"):
            self.get(path.name.removesuffix(".json.gz"))

    def index(self) -> dict[str, Any]:
        """The index as it was last written; empty where there is none."""
        try:
            found = json.loads((self.folder / "index.json").read_text("utf-8"))
        except (OSError, ValueError):
            return {}
        return found if isinstance(found, dict) else {}

    def write_index(self, index: dict[str, Any]) -> None:
        """Replace the index. Of two writers the later one wins: what is lost is made again."""
        write_atomically(self.folder / "index.json", json.dumps(index, indent=0))

    def _path(self, name: str) -> Path:
        return self.folder / name[:2] / f"{name}.json.gz"
