"""The operations of a program: the calls, operators and names of torch that a port has to have."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

FREE = frozenset({"bind", "unpack", "delete", "with", "call"})
"""Operations on names alone, which every port has to have."""


def operations(form: dict[str, Any]) -> frozenset[str]:
    """The operations of a program in the neutral form, as docs/porting.md names them; its constants
    of torch (`torch.float64`) and builtins that are passed on are among them."""
    return frozenset(_found(form["statements"])) - FREE


_ATTRIBUTE = re.compile(r"(?:method|get|set|delete)\.(\w+)")


def is_named(operation: str, text: str) -> bool:
    """Whether a text is the name of an operation, in the neutral form or in Python's words
    (`Tensor.cumsum` for `method.cumsum`)."""
    attribute = _ATTRIBUTE.fullmatch(operation)
    return text == operation or (attribute is not None and text == f"Tensor.{attribute[1]}")


def before(form: dict[str, Any], name: str, line: int | None = None) -> frozenset[str]:
    """The operations that a program has done when it comes to the first one of this name, in this
    line where one is given; if there is none of the name, those of all lines before, or none.

    Operations of functions are not among them: a function is called later, if at all.
    """
    done: frozenset[str] = frozenset()
    for statement in form["statements"]:
        here = done
        if line is None or statement["line"] <= line:
            for step in _flat(statement["steps"]):
                names = frozenset(_found(step, functions=False))
                if line in (None, statement["line"]) and any(is_named(op, name) for op in names):
                    return here - FREE
                here |= names
        if line is not None and statement["line"] >= line:
            return done - FREE
        done = here
    return frozenset()


def _flat(steps: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """Steps in order, each without its body, whose steps follow."""
    for step in steps:
        yield {**step, "body": []}
        yield from _flat(step.get("body", []))


def _found(part: Any, functions: bool = True) -> Iterator[str]:
    """The names in a part of the form: of steps, of the functions in them, and of values."""
    if isinstance(part, list):
        for item in part:
            yield from _found(item, functions)
    elif isinstance(part, dict):
        if isinstance(part.get("op"), str):
            yield part["op"]
        for kind in ("torch", "builtin"):
            if isinstance(part.get(kind), str):
                yield f"{kind}.{part[kind]}"
        for key, item in part.items():
            if key != "source" and (functions or key != "function"):
                yield from _found(item, functions)
