"""The environment of a command's processes."""

from __future__ import annotations

import os

from conformance.base import interruption

PROCESSES = {
    # In small programs a second thread costs more than it saves, and it may change sums.
    "OMP_NUM_THREADS": "1",
    # glibc would return the memory of larger tensors at once, and fault it in again page by page.
    "MALLOC_MMAP_THRESHOLD_": str(32 << 20),
    "MALLOC_TRIM_THRESHOLD_": str(1 << 30),
}

EXCLUDED = "-n and --tx exclude each other: --tx 4*popen is -n 4."
"""The message about a command line with both."""


def prepare_processes() -> None:
    """Set the variables of PROCESSES that are not set, and remember interruptions from now on."""
    interruption.remember_interruptions()
    for name, value in PROCESSES.items():
        os.environ.setdefault(name, value)
