"""The operations of a program: the calls, operators and names of torch that a port has to have."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

FREE = frozenset({"bind", "unpack", "delete", "with", "call"})
"""Operations on names alone, which every port has to have."""


def operations(form: dict[str, Any]) -> frozenset[str]:
    """The operations of a program in the neutral form, as docs/porting.md names them; its constants
    of torch (`torch.float64`) and builtins that are passed on are among them."""
    return frozenset(_found(form["statements"])) - FREE


def _found(part: Any) -> Iterator[str]:
    """The names in a part of the form: of steps, of the functions in them, and of values."""
    if isinstance(part, list):
        for item in part:
            yield from _found(item)
    elif isinstance(part, dict):
        if isinstance(part.get("op"), str):
            yield part["op"]
        for kind in ("torch", "builtin"):
            if isinstance(part.get(kind), str):
                yield f"{kind}.{part[kind]}"
        for key, item in part.items():
            if key != "source":
                yield from _found(item)
