"""Memory of processes: the sizes of an option, and how much a process and its children use."""

from __future__ import annotations

import os
from pathlib import Path

_UNITS = {"K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}
_PAGE = os.sysconf("SC_PAGE_SIZE")
_PROC = Path("/proc")


def size(text: str) -> int:
    """The bytes of `512M` or `2G` (units of 1024); raises ValueError for anything else."""
    number, unit = text[:-1], text[-1:].upper()
    if unit not in _UNITS or not number.isdecimal() or not int(number):
        raise ValueError(f"{text!r} is not a size, such as 512M or 2G")
    return int(number) * _UNITS[unit]


def size_text(count: int) -> str:
    """A number of bytes as `size` reads it, in the largest unit that divides it."""
    unit, factor = max(
        (one for one in _UNITS.items() if not count % one[1]),
        key=lambda one: one[1],
        default=("K", 1 << 10),
    )
    return f"{count // factor}{unit}"


def resident(pid: int) -> int:
    """The bytes in memory of a process and of all that descends from it.

    Zero where there is no /proc, and for a process that has ended.
    """
    total, left = 0, [pid]
    while left:
        place = _PROC / str(left.pop())
        try:
            total += int((place / "statm").read_bytes().split()[1]) * _PAGE
            for children in place.glob("task/*/children"):
                left += map(int, children.read_bytes().split())
        except (OSError, IndexError):
            continue  # it has ended in the meantime
    return total
