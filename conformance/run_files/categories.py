"""Categories of a run's programs: outcomes, with known divergences and failed comments apart."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from conformance.run_files.totals import is_known

CATEGORIES = (
    "diverges",
    "specification",
    "error",
    "unsupported",
    "not_run",
    "known",
    "other_version",
    "conforms",
)
"""The categories, the most urgent first. `known` is a divergence on the list of known ones;
`specification` a program of which only a comment fails: there the oracle is at fault."""


def topic(line: Mapping[str, Any]) -> str:
    """The rule that a program is about, or else its operator, or its area."""
    return str(line["rule"] or line["operator"] or line["area"])


def category(line: Mapping[str, Any]) -> str:
    """A program's category: its outcome, with known divergences and failed comments apart."""
    if is_known(line):
        return "known"
    if line["outcome"] == "diverges" and line["specification"] and not line["divergences"]:
        return "specification"
    return line["outcome"]
