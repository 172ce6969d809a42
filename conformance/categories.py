"""What a program of a run ended as: its outcome, but excused and specification's faults apart."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from conformance.runs import is_known

CATEGORIES = (
    "diverges",
    "specification",
    "error",
    "unsupported",
    "not_run",
    "known",
    "conforms",
)
"""What a program ended as, the most urgent first. `known` is a divergence that is excused;
`specification` a program of which only a comment fails: there the oracle is at fault."""


def category(line: Mapping[str, Any]) -> str:
    """Where a program counts: its outcome, but excused divergences and failed comments apart."""
    if is_known(line):
        return "known"
    if line["outcome"] == "diverges" and line["specification"] and not line["divergences"]:
        return "specification"
    return line["outcome"]
