"""Values that a function computes while it is traced, as by torch.func.linearize: operators may not
read them (torch/fx/experimental/proxy_tensor.py)."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from impl.core import messages
from impl.core.state import STATE


def check_not_traced(tensor: Any, operator: str = "_local_scalar_dense") -> None:
    """Raise RuntimeError if an operator reads a value that a traced function has computed."""
    if any(transform.traces(tensor) for transform in STATE.transforms):
        raise RuntimeError(messages.TRACED.format(operator))


@contextmanager
def reading_traced() -> Iterator[None]:
    """Let values be read that traced functions have computed, for the duration of a block."""
    before = STATE.transforms
    STATE.transforms = tuple(one for one in before if not one.tracing)
    try:
        yield
    finally:
        STATE.transforms = before
