"""The options of random programs, for `conform fuzz` and for the pytest plugin."""

from __future__ import annotations

from pathlib import Path

from conformance.fuzz.themes import EXAMPLES, THEMES
from conformance.settings.arguments import count, duration
from conformance.settings.options import BACKENDS, COUNTED, MANY, Option
from conformance.suite.shard import shard

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

SEARCHING = (
    Option(
        "time",
        "draw programs of each theme until this time is over, such as 90s, 30m or 8h",
        {"type": duration, "default": None, "metavar": "TIME"},
    ),
    Option(
        "corpus",
        "replay the programs in this folder first, and add those that reach new lines",
        {"default": None, "metavar": "DIR"},
    ),
    Option(
        "campaign",
        "write all that was found and reached to this folder; `conform merge` puts those of shards "
        "together",
        {"type": Path, "default": None, "metavar": "DIR"},
    ),
    Option(
        "shard",
        "only this part of the searches, such as 2/8, for several machines",
        {"type": shard, "default": None, "metavar": "K/N"},
    ),
)

FUZZ = (*BACKENDS, *COUNTED, *DRAWING, *SEARCHING)
"""The options of `conform fuzz`: random programs belong to no area, rule or chapter."""
