"""The modules that make the suite's programs, so that a change of one makes them anew."""

from __future__ import annotations

from pathlib import Path

PACKAGES = ("base", "observe", "program", "samples", "signatures", "suite", "sweep")


def sources() -> list[Path]:
    """The folders of all modules and tables that the suite is made by."""
    root = Path(__file__).resolve().parents[1]
    return [root / package for package in PACKAGES]
