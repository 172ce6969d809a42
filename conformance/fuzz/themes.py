"""Themes: kinds of random programs, and default numbers of programs."""

from __future__ import annotations

EXAMPLES = 500
"""Programs drawn of each theme by default."""

SHARE = 500
"""Programs that one search draws; larger numbers are split into several searches."""

MOVED: dict[str, tuple[str, ...]] = {
    "pointwise": ("one tensor", "two tensors", "one tensor", "two tensors", "choice"),
    "reductions": ("along", "along", "two tensors", "copy"),
    "views": ("view", "copy", "joined", "one tensor"),
    "writes": ("write", "view", "two tensors", "one tensor"),
    "products": ("product", "view", "along"),
    "chains": (
        *("one tensor", "two tensors", "along", "view", "write", "choice"),
        *("copy", "product", "joined"),
    ),
}
"""Themes of exact arithmetic: the moves (`conformance.fuzz.moves`) that each is made of."""

DATABASE = "database"
"""The theme whose source takes seconds to import."""

THEMES: dict[str, str] = {
    "operators": "calls of torch's public operators with arguments drawn by type",
    DATABASE: "samples of the oracle's operator database, varied",
    "layers": "modules with random options",
    "optimisers": "optimisers with random options, a few steps",
    **{name: f"moves: {', '.join(dict.fromkeys(moves))}" for name, moves in MOVED.items()},
}
"""Themes, and where their programs come from."""
