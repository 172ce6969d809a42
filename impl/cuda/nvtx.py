"""`torch.cuda.nvtx`: marks in the profiles of NVIDIA's tools, which are not there."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from impl.core.absent_devices import refusal, refusals

_STUB = "'_NVTXStub' object has no attribute '{}'"
_FUNCTIONS = {
    **refusals(
        "mark range_pop range_push",
        RuntimeError,
        "NVTX functions not installed. Are you sure you have a CUDA build?",
    ),
    "range_end": refusal("range_end", AttributeError, _STUB.format("rangeEnd")),
    "range_start": refusal("range_start", AttributeError, _STUB.format("rangeStartA")),
}
globals().update(_FUNCTIONS)
__all__ = [*_FUNCTIONS, "range"]


@contextmanager
def range(msg: str, *args: Any, **kwargs: Any) -> Iterator[None]:
    """A block, or as a decorator a function, that is marked: to enter it raises RuntimeError."""
    _FUNCTIONS["range_push"](msg.format(*args, **kwargs))
    yield
