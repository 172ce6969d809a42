"""Recorded oracles by name: a version of torch in the history, or a recording in a file."""

from __future__ import annotations

import os
import re
from functools import cache
from typing import Any

from conformance.base.reference import reference_folder
from conformance.execution.history import History, VersionView
from conformance.execution.recordings import ENDINGS, PREFIX, Recording
from conformance.execution.saved import recorded_saved
from conformance.execution.trace_file import RecordingError
from conformance.program.program import Program

Recorded = Recording | VersionView
"""An oracle that is read instead of run: `oracle`, `ids()`, `check()`, `trace()`, `entry()`."""

DEVICE = "cpu"
"""The device of the history that a name without a device means."""

ACCELERATOR = "cuda"
"""The device of the history that holds the programs about accelerators."""

_TORCH = "torch-"
_VERSION = re.compile(rf"{PREFIX}{_TORCH}\d+\.\d+(-{DEVICE})?")


def find_recording(name: str) -> Recorded:
    """The oracle that `recorded:NAME` names: torch-2.13 (of the history), or a file.

    Raises RecordingError for a name that is neither, with those that there are.
    """
    wanted = name.removeprefix(PREFIX)
    if wanted.endswith(ENDINGS) or os.sep in wanted:
        return Recording(wanted)
    version, _, device = wanted.removeprefix(_TORCH).partition("-")
    found = history(device or DEVICE)
    if wanted.startswith(_TORCH) and found is not None and version in found.versions:
        return found.view(version)
    there = ", ".join(_TORCH + one for one in found.versions) if found else "none"
    raise RecordingError(
        f"there is no recording {wanted!r}; the suite carries: {there}. "
        f"A file is named with its ending, such as {PREFIX}traces.jsonl.xz."
    )


def is_as_history(oracle: str, seed: int, default_dtype: str) -> bool:
    """Whether a run against the oracle is made as the history was: torch on the CPU, or a version
    of it, with the history's seed and default dtype."""
    of_torch = oracle in ("torch", "torch:cpu") or _VERSION.fullmatch(oracle) is not None
    return of_torch and seed == 0 and default_dtype == "float32"


def saved_of(recording: Recorded, program: Program) -> list[Any] | None:
    """The saved tensors after each statement, of a version of which they are recorded."""
    if not isinstance(recording, VersionView):
        return None
    return recorded_saved(program, recording.version, recording.oracle["device"])


@cache
def history(device: str = DEVICE) -> History | None:
    """The history of torch on a device that the suite carries; None where there is none."""
    folder = reference_folder("history")
    if folder is None or not (folder / device).is_dir():
        return None
    return History(folder / device)
