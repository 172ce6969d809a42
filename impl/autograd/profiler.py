"""`torch.autograd.profiler`: labels of regions, without a profile."""

from __future__ import annotations

from typing import Any

__all__ = ["record_function"]


class record_function:
    """A labelled region, a context manager without effect (torch.profiler.record_function)."""

    def __init__(self, name: str, args: str | None = None) -> None:
        self.name = name
        self.args = args

    def __enter__(self) -> record_function:
        return self

    def __exit__(self, *exc: Any) -> None:
        pass
