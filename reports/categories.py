"""Words and symbols of the result categories, the same on every page."""

from __future__ import annotations

WORDS = {
    "conforms": "conforms",
    "diverges": "diverges",
    "known": "known divergence",
    "other_version": "other version",
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
    "other_version": "⇄",
    "unsupported": "⊘",
    "error": "!",
    "not_run": "○",
    "not_applicable": "–",
    "specification": "§",
}
