"""Minor versions of torch, such as 2.13: how they are read, ordered and written as ranges."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence

BASELINE = "2.15"
"""The version that the chapters describe, where they name no other."""

VERSIONS = tuple(f"2.{number}" for number in range(16))
"""Every version in the history, oldest first; the last is the baseline."""

_VERSION = re.compile(r"(\d+)\.(\d+)")


def minor(version: str) -> str | None:
    """The minor version of a release: 2.13 of 2.13.0+cpu; None for a text that names none."""
    found = _VERSION.match(version)
    return f"{int(found[1])}.{int(found[2])}" if found else None


def order(version: str) -> tuple[int, int]:
    """The key by which minor versions are sorted, oldest first; raises ValueError."""
    found = _VERSION.fullmatch(version)
    if found is None:
        raise ValueError(f"{version!r} is no minor version of torch, such as 2.13")
    return int(found[1]), int(found[2])


def newest_first(versions: Iterable[str]) -> tuple[str, ...]:
    """The versions without repetitions, the newest first."""
    return tuple(sorted(set(versions), key=order, reverse=True))


def ranges(versions: Collection[str], every: Sequence[str] = VERSIONS) -> str:
    """The versions in words, neighbours in ``every`` as ranges: "2.0 to 2.5, 2.7"."""
    runs: list[list[str]] = []
    known = sorted(set(every) | set(versions), key=order)
    for position, version in enumerate(known):
        if version not in versions:
            continue
        if runs and position and runs[-1][-1] == known[position - 1]:
            runs[-1].append(version)
        else:
            runs.append([version])
    return ", ".join(run[0] if len(run) == 1 else f"{run[0]} to {run[-1]}" for run in runs)


def is_older(version: str | None) -> bool:
    """Whether a minor version of torch is older than the baseline; not, if it is unknown."""
    return version is not None and order(version) < order(BASELINE)


def is_newer(version: str | None) -> bool:
    """Whether a minor version of torch is newer than the baseline; not, if it is unknown."""
    return version is not None and order(version) > order(BASELINE)
