"""Leaves for graphs of tests, and contexts in which nothing is collected as garbage."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import impl


def leaf(*values: float) -> Any:
    """A vector, by default of 1 to 4, that requires grad."""
    return impl.tensor(list(values or (1.0, 2.0, 3.0, 4.0)), requires_grad=True)


@contextmanager
def without_collector() -> Iterator[None]:
    """Disables the garbage collector: objects are freed by reference counts alone."""
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


@contextmanager
def new_objects() -> Iterator[Callable[[], list[Any]]]:
    """Gives a function for the containers made since that are alive or garbage."""
    with without_collector():
        gc.freeze()
        try:
            yield gc.get_objects
        finally:
            gc.unfreeze()
