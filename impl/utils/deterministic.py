"""Settings of deterministic algorithms (torch.utils.deterministic)."""

from __future__ import annotations

import sys
from types import ModuleType

from impl.core import context


class _Deterministic(ModuleType):
    @property
    def fill_uninitialized_memory(self) -> bool:
        """Whether memory that is not initialised is filled while deterministic algorithms are on,
        at first True: with NaN, the largest integer or True."""
        return context.fills_when_deterministic()

    @fill_uninitialized_memory.setter
    def fill_uninitialized_memory(self, mode: bool) -> None:
        context.fill_when_deterministic(mode)


sys.modules[__name__].__class__ = _Deterministic
