"""Writer of static sites: puts files into a folder and removes stale ones of an earlier build."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path, PurePosixPath
from typing import Any

from conformance.base.outputs import write_text

MANIFEST = "site.json"
"""File that lists the site's files; the next build removes those that it no longer writes."""


def write_site(folder: Path, files: Mapping[str, str]) -> None:
    """Write the texts of `files` under their names, in their order; raises OSError.

    Only files listed in the previous manifest and absent from `files` are removed.
    """
    manifest = folder / MANIFEST
    earlier: list[Any] = []
    with suppress(OSError, ValueError, KeyError, TypeError):
        earlier = json.loads(manifest.read_text("utf-8"))["files"]
    for name, text in files.items():
        write_text(folder / name, text)
    write_text(manifest, json.dumps({"files": sorted(files)}, indent=1) + "\n")
    for name in earlier:
        if isinstance(name, str) and name not in files and _is_ours(name):
            with suppress(OSError):
                os.unlink(folder / name)


def _is_ours(name: str) -> bool:
    """Whether a name from the manifest is a path inside the site; no other file is removed."""
    path = PurePosixPath(name)
    return len(path.parts) <= 2 and ".." not in path.parts and not path.is_absolute()
