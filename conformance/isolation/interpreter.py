"""The state of the interpreter that programs share, and what of it a program has changed.

A backend that leaves NumPy raising errors, a module missing or a function of Python patched makes
the programs after it fail or diverge. So the worker compares this state between programs.
"""

from __future__ import annotations

import builtins
import gc
import os
import signal
import sys
import threading
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

_SIGNALS = [
    number
    for name in ("SIGINT", "SIGTERM", "SIGALRM", "SIGSEGV")
    if (number := getattr(signal, name, None)) is not None
]


def _environment() -> Any:
    return dict(os.environ._data)  # type: ignore[attr-defined]  # its copy would decode all of it


_STATE: dict[str, Callable[[], Any]] = {
    "builtins": lambda: list(vars(builtins).values()),
    "NumPy's handling of errors": np.geterr,
    "the current folder": os.getcwd,
    "the standard streams": lambda: [sys.stdin, sys.stdout, sys.stderr],
    "the handlers of signals": lambda: list(map(signal.getsignal, _SIGNALS)),
    "the limit of recursion": sys.getrecursionlimit,
    "the filters of warnings": lambda: list(warnings.filters),
    "the number of threads": threading.active_count,
    "the environment": _environment,
    "the path of modules": lambda: list(sys.path),
    "the hooks of imports": lambda: [*sys.meta_path, *sys.path_hooks],
    "the hooks of the interpreter": lambda: [
        sys.gettrace(),
        sys.getprofile(),
        sys.excepthook,
        sys.displayhook,
        sys.unraisablehook,
    ],
    "the collector of garbage": lambda: [gc.isenabled(), *gc.get_threshold()],
}


class Interpreter:
    """The state of this interpreter as it was at the last comparison."""

    def __init__(self, namespace: Any) -> None:
        """``namespace`` is the backend's; its default dtype is part of the state."""
        self._readers = dict(_STATE)
        if callable(dtype := getattr(namespace, "get_default_dtype", None)):
            self._readers["the default dtype"] = dtype
        self._modules = dict(sys.modules)
        self._in_order = list(self._modules.values())
        self._before = {name: read() for name, read in self._readers.items()}

    def changes(self) -> list[str]:
        """The parts of the state that have changed since the last call, or since the beginning.

        Modules and variables that are new are no change; one that is gone or replaced is.
        """
        changed = [] if self._has_its_modules() else ["the modules that are imported"]
        for name, read in self._readers.items():
            try:
                value = read()
                same = self._is_same(self._before[name], value)
            except Exception:
                value, same = None, False
            if not same:
                changed.append(name)
            self._before[name] = value
        return changed

    @staticmethod
    def _is_same(before: Any, now: Any) -> bool:
        if before == now:
            return True
        return isinstance(before, dict) and before.items() <= now.items()

    def _has_its_modules(self) -> bool:
        before, now = self._modules, list(sys.modules.values())
        # Comparing lists compares identities first, at the speed of C.
        if now == self._in_order:
            return True
        self._modules, self._in_order = dict(sys.modules), now
        return all(self._modules.get(name) is module for name, module in before.items())
