"""Checks of arguments that depend on no other module."""

from __future__ import annotations


def check_callable(text: str, functions) -> None:
    """Raise TypeError, with `text` and the repr of the arguments, unless all are callable."""
    if not all(map(callable, functions)):
        start = text + (", " if text[-1] != " " else "")
        raise TypeError(start + ", ".join(map(repr, functions)))


def check_with(kind: type[Exception], condition, message) -> None:
    """Raise an error of a kind, with the text that `message` returns, unless a condition holds.

    Raises TypeError for a condition that is no bool (torch._check_with).
    """
    if not isinstance(condition, bool):
        raise TypeError(f"cond must be a bool, but got {type(condition)}")
    if not condition:
        raise kind(message())
