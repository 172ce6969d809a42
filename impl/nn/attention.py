"""`torch.nn.attention`: the choice of a kernel for attention, of which impl has one."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from enum import IntEnum
from typing import Any

__all__ = ["SDPBackend", "sdpa_kernel"]


class SDPBackend(IntEnum):
    """The kernels that torch chooses from (torch.nn.attention.SDPBackend)."""

    ERROR = -1
    MATH = 0
    FLASH_ATTENTION = 1
    EFFICIENT_ATTENTION = 2
    CUDNN_ATTENTION = 3
    OVERRIDEABLE = 4


@contextlib.contextmanager
def sdpa_kernel(backends: Any, set_priority: bool = False) -> Iterator[None]:
    """A block without effect: the composite is used for every choice
    (torch.nn.attention.sdpa_kernel)."""
    yield
