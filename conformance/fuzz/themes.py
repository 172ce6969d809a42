"""Themes: kinds of random programs, and default numbers of programs."""

from __future__ import annotations

EXAMPLES = 200
"""Programs drawn of each theme by default."""

SHARE = 100
"""Programs that one search draws; larger numbers are split into several searches."""

THEMES: dict[str, tuple[str, ...]] = {
    "pointwise": ("one tensor", "two tensors", "one tensor", "two tensors", "choice"),
    "reductions": ("along", "two tensors", "copy"),
    "views": ("view", "copy", "joined", "one tensor"),
    "writes": ("write", "view", "two tensors", "one tensor"),
    "products": ("product", "view", "along"),
    "chains": (
        *("one tensor", "two tensors", "along", "view", "write", "choice"),
        *("copy", "product", "joined"),
    ),
}
"""Themes: the moves (`conformance.fuzz.moves`) that each is made of, the simplest first."""
