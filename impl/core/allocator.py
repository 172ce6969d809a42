"""The errors of torch's allocator: sizes whose bytes int64 cannot count, and memory used up."""

from __future__ import annotations

import math
from typing import Any

MANY = 2**31
"""Sizes below are counted by the allocation itself."""


def check_storage(sizes, itemsize: int) -> None:
    """Raise RuntimeError for the sizes of a new tensor whose bytes are more than int64 holds, or
    whose sizes multiplied one after the other overflow (computeStorageNbytesContiguous)."""
    if not sizes or max(sizes) < MANY:
        return
    count, overflows = 1, False
    for size in sizes:
        count *= size
        overflows |= count >= 2**64
    if overflows or count * itemsize >= 2**63:
        raise RuntimeError(f"Storage size calculation overflowed with sizes={[*sizes]}")


def out_of_memory(error: MemoryError) -> RuntimeError:
    """The error of the allocator for one of NumPy; without the number of bytes where an error of
    Python itself has none."""
    array: Any = error
    text = (
        "[enforce fail at alloc_cpu.cpp:127] err == 0. DefaultCPUAllocator: can't allocate memory"
    )
    if hasattr(error, "shape"):
        size = math.prod(array.shape) * array.dtype.itemsize
        text += f": you tried to allocate {size} bytes"
    return RuntimeError(f"{text}. Error code 12 (Cannot allocate memory)")
