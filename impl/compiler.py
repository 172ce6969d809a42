"""`torch.compile` and `torch.compiler`: functions run as they are."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

__all__ = [
    "allow_in_graph",
    "assume_constant_result",
    "compile",
    "cudagraph_mark_step_begin",
    "disable",
    "is_compiling",
    "is_dynamo_compiling",
    "is_exporting",
    "list_backends",
    "reset",
    "set_stance",
]


def compile(model: Callable | None = None, **options: Any) -> Callable:
    """The function or module itself, or a decorator that returns it (torch.compile)."""
    return _itself if model is None else model


def disable(fn: Callable | None = None, recursive: bool = True, **options: Any) -> Callable:
    """The function itself, or a decorator that returns it (torch.compiler.disable)."""
    return _itself if fn is None else fn


def _itself(function: Callable) -> Callable:
    return function


def allow_in_graph(fn: Callable) -> Callable:
    """The function itself (torch.compiler.allow_in_graph)."""
    return fn


def assume_constant_result(fn: Callable) -> Callable:
    """The function itself (torch.compiler.assume_constant_result)."""
    return fn


def is_compiling() -> bool:
    """False: nothing is compiled (torch.compiler.is_compiling)."""
    return False


def is_dynamo_compiling() -> bool:
    """False (torch.compiler.is_dynamo_compiling)."""
    return False


def is_exporting() -> bool:
    """False (torch.compiler.is_exporting)."""
    return False


def list_backends(exclude_tags: Any = ()) -> list[str]:
    """None of them (torch.compiler.list_backends)."""
    return []


def reset() -> None:
    """No effect: there is no cache (torch.compiler.reset)."""


def cudagraph_mark_step_begin() -> None:
    """No effect (torch.compiler.cudagraph_mark_step_begin)."""


@contextlib.contextmanager
def set_stance(stance: str = "default", **options: Any) -> Iterator[None]:
    """A block without effect (torch.compiler.set_stance)."""
    yield
