"""Collections of garbage, which walk all new objects again and again while many are made."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def uncollected() -> Iterator[None]:
    """No collections in a block that makes many objects and little garbage, such as an import.

    A setting made in the block is lost: collections are on after it if they were before.
    """
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()
