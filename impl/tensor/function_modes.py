"""`TorchFunctionMode`: modes that take functions of torch over, whatever their arguments.

Without a mode nothing asks for one: the short cuts past the question (the types that a parser has
accepted, the arguments that functions written in Python know, the plain methods of tensors) are
closed when a thread enters the first mode, and opened when the last one is left.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from impl.core.state import STATE

_lock = threading.Lock()
_active = 0  # the number of modes that are entered, in all threads
_shortcuts: list[tuple[Callable[[], None], Callable[[], None]]] = []


def shortcut(close: Callable[[], None], open_again: Callable[[], None]) -> None:
    """Register what closes a short cut past the question, and what opens it again."""
    _shortcuts.append((close, open_again))


def are_active() -> bool:
    """Whether some thread is in a mode, so that short cuts stay closed."""
    return _active > 0


def _count(change: int) -> None:
    global _active
    with _lock:
        before, _active = _active, _active + change
        if (before > 0) is not (_active > 0):
            for close, open_again in _shortcuts:
                (close if _active else open_again)()


class TorchFunctionMode:
    """Base class of modes; while one is entered, each call of a function of torch in this thread
    becomes a call of its `__torch_function__` (torch.overrides.TorchFunctionMode).

    Of nested modes the innermost is called, and is not active in its own `__torch_function__`.
    """

    def __init__(self) -> None:
        pass

    def __torch_function__(self, func, types, args=(), kwargs=None):
        """The result of `func(*args, **kwargs)`, or NotImplemented; `types` are the classes of the
        arguments that take functions over."""
        raise NotImplementedError

    def __enter__(self):
        STATE.function_modes = (*STATE.function_modes, self)
        _count(+1)
        return self

    def __exit__(self, *exc: Any) -> None:
        STATE.function_modes = STATE.function_modes[:-1]
        _count(-1)


class BaseTorchFunctionMode(TorchFunctionMode):
    """A mode that calls every function as it is (torch.overrides.BaseTorchFunctionMode)."""

    def __torch_function__(self, func, types, args=(), kwargs=None):
        return func(*args, **(kwargs or {}))
