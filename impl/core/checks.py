"""Checks of arguments that depend on no other module."""

from __future__ import annotations


def check_callable(text: str, functions) -> None:
    """Raise TypeError, with `text` and the repr of the arguments, unless all are callable."""
    if not all(map(callable, functions)):
        start = text + (", " if text[-1] != " " else "")
        raise TypeError(start + ", ".join(map(repr, functions)))
