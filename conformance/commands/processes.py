"""What the processes of a command find in their environment."""

from __future__ import annotations

import os

from conformance import interruption

PROCESSES = {
    # In small programs a second thread costs more than it brings, and sums may differ with it.
    "OMP_NUM_THREADS": "1",
    # glibc would give larger tensors' memory back at once, and ask for it again page by page.
    "MALLOC_MMAP_THRESHOLD_": str(32 << 20),
    "MALLOC_TRIM_THRESHOLD_": str(1 << 30),
}


def prepare_processes() -> None:
    """Set what PROCESSES says, where the caller has not, and heed interruptions in this one."""
    interruption.heed()
    for name, value in PROCESSES.items():
        os.environ.setdefault(name, value)
