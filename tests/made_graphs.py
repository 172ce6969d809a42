"""Leaves for tests' graphs, and a context without the garbage collector."""

from __future__ import annotations

import gc
from collections.abc import Iterator
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
