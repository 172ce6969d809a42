"""The folders of the package `reference`, which is read as data and never imported."""

from __future__ import annotations

import importlib.util
from pathlib import Path


def reference_folder(name: str) -> Path | None:
    """Return a folder of `reference` (spec, recordings, programs); None if it is missing."""
    found = importlib.util.find_spec("reference")
    for location in (found.submodule_search_locations or ()) if found else ():
        if (folder := Path(location) / name).is_dir():
            return folder
    return None
