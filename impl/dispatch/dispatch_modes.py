"""Modes below autograd, which see the operators that are called (TorchDispatchMode).

An operator is recorded outside the mode, whose handler runs below autograd: its result is that of
the operator, and gets the history. Operators of the implementation are seen as those of ATen that
they stand for. The kernels of factories, and gradient formulas on arrays, are not seen.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from impl.core.below_autograd import BelowAutograd
from impl.core.state import STATE
from impl.dispatch.aten import given, overload_of


class TorchDispatchMode:
    """Base class of modes; while one is entered, each operator that is called in this thread
    becomes a call of its `__torch_dispatch__` (torch.utils._python_dispatch.TorchDispatchMode).

    Of nested modes the innermost is called, and is not active in its own handler.
    """

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        """The result of `func(*args, **kwargs)`; `func` is an OpOverload."""
        raise NotImplementedError

    def __enter__(self):
        _set_modes((*STATE.dispatch_modes, self))
        return self

    def __exit__(self, *exc: Any) -> None:
        _set_modes(STATE.dispatch_modes[:-1])


def _set_modes(modes: tuple) -> None:
    STATE.fast_path_blockers += bool(modes) - bool(STATE.dispatch_modes)
    STATE.dispatch_modes = modes


def dispatched(overload, args: tuple, kwargs: dict | None = None) -> Any:
    """The result of the innermost mode for an operator, or of the operator itself."""
    modes = STATE.dispatch_modes
    with BelowAutograd():
        if not modes:
            return overload(*args, **(kwargs or {}))
        within, STATE.within_dispatch = STATE.within_dispatch, True
        _set_modes(modes[:-1])
        try:
            rule = overload.torch_dispatch_rules.get(type(modes[-1]))
            if rule is not None:
                return rule(modes[-1], overload, (), args, kwargs or {})
            return modes[-1].__torch_dispatch__(overload, (), args, kwargs or {})
        finally:
            _set_modes(modes)
            STATE.within_dispatch = within


def sees(args: tuple) -> bool:
    """Whether a mode sees a call: not that of a sampler's kernel, whose draws are arrays."""
    return not any(isinstance(a, np.ndarray) for a in args)


def called(op, args: tuple, written: bool = False) -> Any:
    """The result of the innermost mode for a call of an operator, `written` for one in place."""
    return dispatched(overload_of(op, args, written), *given(op, args))
