"""Areas of the suite."""

from __future__ import annotations

CHAPTER_AREAS = ("leaves", "ties", "seeds", "accumulation", "aliasing", "inplace")

AREAS = (
    *CHAPTER_AREAS,
    *("programs", "operators", "signatures", "conventions", "laws", "sweep", "docstrings", "fuzz"),
)
"""The suite's areas in its order; a run of other chapters may have more."""
