"""A torch-shaped namespace over `impl` with some names replaced."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import impl


class Namespace:
    """`impl` with some of its functions replaced, or missing."""

    __version__ = "1.0"

    def __init__(self, lacks: tuple[str, ...] = (), **replaced: Callable[..., Any]) -> None:
        self._lacks = lacks
        self._replaced = replaced

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or name in self._lacks:
            raise AttributeError(f"module 'miniature' has no attribute {name!r}")
        return self._replaced.get(name) or getattr(impl, name)
