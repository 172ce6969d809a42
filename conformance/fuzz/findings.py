"""Findings: programs on which a backend diverged, kept as files that the suite replays."""

from __future__ import annotations

import json
from dataclasses import replace
from importlib import resources
from pathlib import Path

from conformance.base.outputs import write_text
from conformance.base.release import checkout
from conformance.program.program import Program


def folder() -> Path:
    """The folder that findings are written to by default.

    In a source checkout that is where the suite replays them from; an installed package is not
    written to, so elsewhere it is `findings` in the current folder.
    """
    return own_folder() if checkout() else Path("findings")


def own_folder() -> Path:
    """The folder of the suite's own findings, which every run replays."""
    return Path(str(resources.files("conformance").joinpath("findings")))


def keep(program: Program, place: Path | None = None) -> Path:
    """Write the program to a file that the suite can replay; returns its path.

    A cause, which the program's sentence names, has one file: the first that was found. Raises
    OSError.
    """
    place = place or folder()
    for path in sorted(place.glob("*.json")) if place.is_dir() else ():
        if _sentence(path) == program.sentence:
            return path
    path = place / (program.id.removeprefix("fuzz/") + ".json")
    written = replace(program, file=None, line=None)
    write_text(path, json.dumps(written.to_json(), indent=1) + "\n")
    return path


def _sentence(path: Path) -> str | None:
    try:
        data = json.loads(path.read_text("utf-8"))
    except (OSError, ValueError):
        return None
    return data.get("sentence") if isinstance(data, dict) else None
