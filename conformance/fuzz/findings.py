"""Findings: programs on which a backend diverged, kept as files that the suite replays."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from importlib import resources
from pathlib import Path
from typing import Any

from conformance.base.release import checkout
from conformance.program.program import Program


@dataclass(frozen=True)
class Finding:
    """A program on which the backend diverges, shrunk, and its line of a run file."""

    program: Program
    line: dict[str, Any]

    @property
    def file_name(self) -> str:
        """The name of the finding's file: its content hash."""
        return self.program.id.removeprefix("fuzz/") + ".json"


def folder() -> Path:
    """The folder that findings are written to by default.

    In a source checkout that is where the suite replays them from; an installed package is not
    written to, so elsewhere it is `findings` in the current folder.
    """
    return own_folder() if checkout() else Path("findings")


def own_folder() -> Path:
    """The folder of the suite's own findings, which every run replays."""
    return Path(str(resources.files("conformance").joinpath("findings")))


def keep(finding: Finding, place: Path | None = None) -> Path:
    """Write the finding to a file that the suite can replay; returns its path. Raises OSError."""
    path = (place or folder()) / finding.file_name
    path.parent.mkdir(parents=True, exist_ok=True)
    program = replace(finding.program, file=None, line=None)
    path.write_text(json.dumps(program.to_json(), indent=1) + "\n", "utf-8")
    return path
