"""`torch.multiprocessing`: Python's own multiprocessing, with `spawn`.

A tensor goes to another process as a copy: there is no memory that processes share.
"""

from __future__ import annotations

import multiprocessing as _multiprocessing
from multiprocessing import *  # noqa: F403

from impl.multiprocessing import reductions
from impl.multiprocessing.spawn import ProcessContext as ProcessContext
from impl.multiprocessing.spawn import ProcessException as ProcessException
from impl.multiprocessing.spawn import ProcessExitedException as ProcessExitedException
from impl.multiprocessing.spawn import ProcessRaisedException as ProcessRaisedException
from impl.multiprocessing.spawn import SpawnContext as SpawnContext
from impl.multiprocessing.spawn import spawn as spawn
from impl.multiprocessing.spawn import start_processes as start_processes

__all__ = [
    *_multiprocessing.__all__,  # type: ignore[attr-defined]
    "get_all_sharing_strategies",
    "get_sharing_strategy",
    "reductions",
    "set_sharing_strategy",
]

_STRATEGIES = {"file_descriptor", "file_system"}
_strategy = "file_descriptor"


def set_sharing_strategy(new_strategy: str) -> None:
    """Keep the name of a strategy, without another effect; AssertionError for an unknown one
    (torch.multiprocessing.set_sharing_strategy)."""
    global _strategy
    if new_strategy not in _STRATEGIES:
        raise AssertionError(
            f"invalid sharing strategy {new_strategy!r}, expected one of {_STRATEGIES}"
        )
    _strategy = new_strategy


def get_sharing_strategy() -> str:
    """The strategy that was set (torch.multiprocessing.get_sharing_strategy)."""
    return _strategy


def get_all_sharing_strategies() -> set[str]:
    """The names of strategies (torch.multiprocessing.get_all_sharing_strategies)."""
    return _STRATEGIES
