"""The installed suite: its version, and its source checkout, if there is one."""

from __future__ import annotations

import hashlib
import tomllib
from collections.abc import Mapping
from contextlib import suppress
from functools import cache
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


def versions() -> dict[str, str]:
    """The versions by which two machines must agree to find the same: suite, torch and NumPy.

    The suite's has a digest of its sources, which change between two releases.
    """
    found = {"suite": f"{version()} ({_digest()})"}
    for name in ("torch", "numpy"):
        with suppress(metadata.PackageNotFoundError):
            found[name] = metadata.version(name)
    return found


def differences(here: Mapping[str, str], there: Mapping[str, str]) -> str:
    """A sentence about the versions that another machine has and this one has not; may be empty."""
    differ = [
        f"{name} {there.get(name) or '(none)'} instead of {here.get(name) or '(none)'}"
        for name in dict.fromkeys((*here, *there))
        if here.get(name) != there.get(name)
    ]
    return f"it has {', '.join(differ)}" if differ else ""


@cache
def _digest() -> str:
    """A digest of the harness's sources, tables included."""
    whole, root = hashlib.sha256(), Path(__file__).resolve().parents[1]
    for pattern in ("*.py", "*.txt", "*.toml"):
        for path in sorted(root.rglob(pattern)):
            whole.update(f"{path.relative_to(root)}\n".encode() + path.read_bytes())
    return whole.hexdigest()[:8]


def _project(root: Path) -> dict[str, object]:
    """The `[project]` table of the folder's pyproject.toml; empty if there is none to be read."""
    try:
        table = tomllib.loads((root / "pyproject.toml").read_text("utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError):
        return {}
    project = table.get("project")
    return project if isinstance(project, dict) else {}
