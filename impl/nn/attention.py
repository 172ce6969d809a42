"""`torch.nn.attention`: the kernels that attention may take."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from enum import Enum
from typing import Any

from impl.operators.layers.attention_kernels import ALLOWED

__all__ = ["SDPBackend", "sdpa_kernel"]


class SDPBackend(Enum):
    """The kernels that torch chooses from (torch.nn.attention.SDPBackend)."""

    ERROR = -1
    MATH = 0
    FLASH_ATTENTION = 1
    EFFICIENT_ATTENTION = 2
    CUDNN_ATTENTION = 3
    OVERRIDEABLE = 4

    def __int__(self) -> int:
        """Its number."""
        return self.value

    __index__ = __int__

    def __hash__(self) -> int:
        """The hash of its number."""
        return hash(self.value)


_KERNELS = {
    SDPBackend.MATH: "math",
    SDPBackend.FLASH_ATTENTION: "flash",
    SDPBackend.EFFICIENT_ATTENTION: "mem_efficient",
    SDPBackend.CUDNN_ATTENTION: "cudnn",
    SDPBackend.OVERRIDEABLE: "overrideable",
}


@contextlib.contextmanager
def sdpa_kernel(backends: Any, set_priority: bool = False) -> Iterator[dict]:
    """A block in which attention may take these kernels alone, one or a list of them, in all
    threads.

    The order of the list does not matter on a CPU, so that `set_priority` is without effect. Raises
    AssertionError for other kinds of values (torch.nn.attention.sdpa_kernel).
    """
    if not isinstance(backends, (list, SDPBackend)):
        raise AssertionError(
            "Backend must be an instance of SDPBackend or a list of SDPBackend instances, got "
            f"{type(backends).__name__}"
        )
    chosen = [backends] if isinstance(backends, SDPBackend) else backends
    before = dict(ALLOWED)
    try:
        ALLOWED.update((name, kernel in chosen) for kernel, name in _KERNELS.items())
        yield {}
    finally:
        ALLOWED.update(before)
