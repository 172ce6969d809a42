"""Registry of the engine benchmark's workloads: one function per workload and interface.

A function prepares the data and returns the step to be timed: forward, backward, and a reset of the
data. `torch_like` functions take the namespace (torch or impl); the others are written in the idiom
of their library, and missing if it cannot do the work.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Step = Callable[[], Any]
WORKLOADS: dict[str, dict[str, Callable[..., Step]]] = {}


def workload(name: str, interface: str):
    """Register a function under the workload's name and its interface."""

    def define(function):
        WORKLOADS.setdefault(name, {})[interface] = function
        return function

    return define
