"""What the engines are timed on: for each workload one function per kind of interface.

A function prepares the data and returns the step to be timed: forward, backward, and whatever puts
the data back to where they were. `torch_like` ones take the namespace (torch, or impl); the others
are written as a user of that library writes them, and absent where it cannot do the work.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Step = Callable[[], Any]
WORKLOADS: dict[str, dict[str, Callable[..., Step]]] = {}


def workload(name: str, interface: str):
    """Register a function under the workload's name and the interface it is written for."""

    def define(function):
        WORKLOADS.setdefault(name, {})[interface] = function
        return function

    return define
