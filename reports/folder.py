"""A site in a folder: its files are put there, and those of an earlier build that it has no longer
are taken away."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path, PurePosixPath
from typing import Any

from reports.page import write_atomically

MANIFEST = "site.json"
"""Names the files of the site, so that the next build removes those that it has no longer."""


def write_site(folder: Path, files: Mapping[str, str]) -> None:
    """Write the texts of `files` by their names, in their order; raises OSError.

    Files that the last build left there and that are not among them are removed, no others.
    """
    manifest = folder / MANIFEST
    earlier: list[Any] = []
    with suppress(OSError, ValueError, KeyError, TypeError):
        earlier = json.loads(manifest.read_text("utf-8"))["files"]
    for name, text in files.items():
        write_atomically(folder / name, text)
    write_atomically(manifest, json.dumps({"files": sorted(files)}, indent=1) + "\n")
    for name in earlier:
        if isinstance(name, str) and name not in files and _is_ours(name):
            with suppress(OSError):
                os.unlink(folder / name)


def _is_ours(name: str) -> bool:
    """Whether a name of the manifest is one that a site may have: nothing outside is removed."""
    path = PurePosixPath(name)
    return len(path.parts) <= 2 and ".." not in path.parts and not path.is_absolute()
