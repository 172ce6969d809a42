"""The installed suite: its version, and its source checkout, if there is one."""

from __future__ import annotations

import tomllib
from importlib import metadata
from pathlib import Path

DISTRIBUTION = "autograd-conformance"


def checkout() -> Path | None:
    """The root of the source checkout that this package is imported from; None if installed."""
    root = Path(__file__).resolve().parents[2]
    return root if _project(root).get("name") == DISTRIBUTION else None


def version() -> str:
    """The suite's own version: the checkout's, or else that of the installed distribution."""
    root = checkout()
    if root is not None:
        return str(_project(root).get("version", "0+unknown"))
    try:
        return metadata.version(DISTRIBUTION)
    except metadata.PackageNotFoundError:
        return "0+unknown"


def _project(root: Path) -> dict[str, object]:
    """The `[project]` table of the folder's pyproject.toml; empty if there is none to be read."""
    try:
        table = tomllib.loads((root / "pyproject.toml").read_text("utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError):
        return {}
    project = table.get("project")
    return project if isinstance(project, dict) else {}
