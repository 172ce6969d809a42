"""The options of random programs, for `conform fuzz` and for the pytest plugin."""

from __future__ import annotations

from conformance.fuzz.themes import EXAMPLES, THEMES
from conformance.settings.options import BACKENDS, COUNTED, MANY, Option, count

DRAWING = (
    Option(
        "examples",
        f"random programs to draw of each theme (default: {EXAMPLES})",
        {"type": count, "default": EXAMPLES, "metavar": "N"},
    ),
    Option(
        "theme",
        f"only programs of this theme ({', '.join(THEMES)}); repeatable, default all",
        {**MANY, "metavar": "THEME"},
    ),
    Option(
        "keep-in",
        "write findings of random programs to this folder (default: the suite's, or ./findings)",
        {"default": None, "metavar": "DIR"},
    ),
    Option(
        "no-keep",
        "do not write findings to files",
        {"action": "store_true"},
    ),
)

FUZZ = (*BACKENDS, *COUNTED, *DRAWING)
"""The options of `conform fuzz`: random programs belong to no area, rule or chapter."""
