"""Levels, outcomes and verdicts: the vocabulary of run files."""

from __future__ import annotations

OUTCOMES = ("conforms", "other_version", "diverges", "unsupported", "error", "not_run")
LEVELS = ("values", "graph", "memory", "diagnostics")
LEVEL_VERDICTS = ("conforms", "other_version", "diverges", "not_applicable")

NOT_COMPARED = ("unsupported", "error", "not_run")
"""Outcomes of programs that were not compared: they count neither for nor against."""
