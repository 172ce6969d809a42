"""The classes of tensors with `__torch_dispatch__`, and whether they are asked."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Any

from impl.core.state import STATE
from impl.tensor.tensor import DISPATCHING, Tensor

# The tensors of such classes that there are: a pass looks for them only then.
ALIVE: weakref.WeakSet = weakref.WeakSet()


class DisabledHandler:
    """The handler of classes that are not asked, which calls the function in a block of `disable`.

    It is no descriptor, like a function of C, so that a class attribute is not bound.
    """

    takes_nothing = True

    def __init__(self, name: str, disable: Callable[[], Any]) -> None:
        self.__name__, self._disable = name, disable

    def __call__(self, func, types, args=(), kwargs=None):
        with self._disable():
            return func(*args, **(kwargs or {}))

    def __repr__(self) -> str:
        return f"<built-in function {self.__name__}>"


class DisableTorchDispatch:
    """From its making to the end of its block, or of its life, neither a class nor a mode is asked
    below autograd (torch._C._DisableTorchDispatch)."""

    def __init__(self) -> None:
        self._before: tuple | None = (STATE.torch_dispatch, STATE.dispatch_modes)
        STATE.torch_dispatch = False
        set_modes(())

    def __enter__(self) -> None:
        pass

    def __exit__(self, *exc) -> None:
        self.__del__()

    def __del__(self) -> None:
        if self._before is None:
            return
        STATE.torch_dispatch, modes = self._before
        self._before = None
        set_modes(modes)


# The `__torch_dispatch__` of classes that are not asked (torch._C._disabled_torch_dispatch_impl).
disabled = DisabledHandler("_disabled_torch_dispatch_impl", DisableTorchDispatch)
Tensor.__torch_dispatch__ = disabled


def note(tensor: Tensor) -> None:
    """Have operators ask the class of a new tensor, if it has `__torch_dispatch__`."""
    kind = type(tensor)
    if kind not in DISPATCHING:
        if kind.__torch_dispatch__ is disabled:
            return
        DISPATCHING.add(kind)
    ALIVE.add(tensor)


def set_modes(modes: tuple) -> None:
    """Make these the active modes below autograd."""
    STATE.fast_path_blockers += bool(modes) - bool(STATE.dispatch_modes)
    STATE.dispatch_modes = modes
