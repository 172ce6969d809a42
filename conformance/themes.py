"""Kinds of random program, and how many of each are drawn."""

from __future__ import annotations

EXAMPLES = 200
"""Programs drawn of each theme unless another number is asked for."""

SHARE = 100
"""Programs that one search draws; a theme of more is spread over several searches."""

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
"""Themes: the moves (`conformance.moves`) that each is made of, the simplest first."""
