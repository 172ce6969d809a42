"""Checks of arguments that several packages share."""

from __future__ import annotations

from impl.core.tensor_impl import TensorBase


def check_callable(text: str, functions) -> None:
    """Raise TypeError, with `text` and the repr of the arguments, unless all are callable."""
    if not all(map(callable, functions)):
        start = text + (", " if text[-1] != " " else "")
        raise TypeError(start + ", ".join(map(repr, functions)))


_TENSOR = (
    "cond must be a bool, but got a Tensor. For tensor conditions, use torch._check_tensor_all() "
    "to assert that all elements are true."
)


def check_condition(condition) -> None:
    """Raise TypeError for a condition that is no bool."""
    if isinstance(condition, TensorBase):
        raise TypeError(_TENSOR)
    if not isinstance(condition, bool):
        raise TypeError(f"cond must be a bool, but got {type(condition)}")


def check_with(kind: type[Exception], condition, message) -> None:
    """Raise an error of a kind, with the text that `message` returns, unless a condition holds.

    Raises TypeError for a condition that is no bool (torch._check_with).
    """
    check_condition(condition)
    if not condition:
        raise kind(message())
