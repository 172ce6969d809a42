"""What a program of a run ended as, in the words and symbols of every page."""

from __future__ import annotations

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

WORDS = {
    "conforms": "conforms",
    "diverges": "diverges",
    "known": "known divergence",
    "unsupported": "unsupported",
    "error": "error",
    "not_run": "not run",
    "not_applicable": "not applicable",
    "specification": "specification not met",
}
SYMBOLS = {
    "conforms": "✓",
    "diverges": "✗",
    "known": "≉",
    "unsupported": "⊘",
    "error": "!",
    "not_run": "○",
    "not_applicable": "–",
    "specification": "§",
}


def category(line: dict[str, Any]) -> str:
    """Where a program counts: its outcome, but excused divergences and failed comments apart."""
    if is_known(line):
        return "known"
    if line["outcome"] == "diverges" and line["specification"] and not line["divergences"]:
        return "specification"
    return line["outcome"]
