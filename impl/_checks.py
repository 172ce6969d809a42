"""The assertions of PyTorch's Python code: `torch._check` and its like, `torch._assert`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from impl.core.checks import check_condition

__all__ = [
    "_assert",
    "_check",
    "_check_index",
    "_check_not_implemented",
    "_check_type",
    "_check_value",
]

_UNEXPLAINED = (
    "Expected cond to be True, but got False. (Could this error message be improved? If so, please "
    "report an enhancement request to PyTorch.)"
)


def _checking(name: str, kind: type[Exception]) -> Callable[..., None]:
    def check(cond: Any, message: Any = None) -> None:
        check_condition(cond)
        if not cond:
            if message is None:
                raise kind(_UNEXPLAINED)
            raise kind(str(message() if callable(message) else message))

    check.__name__ = check.__qualname__ = name
    check.__doc__ = f"Raise {kind.__name__} unless a condition holds (torch.{name})."
    return check


_check = _checking("_check", RuntimeError)
_check_index = _checking("_check_index", IndexError)
_check_not_implemented = _checking("_check_not_implemented", NotImplementedError)
_check_type = _checking("_check_type", TypeError)
_check_value = _checking("_check_value", ValueError)


def _assert(condition: Any, message: str) -> None:
    """Raise AssertionError unless a condition holds (torch._assert)."""
    if not condition:
        raise AssertionError(message)
