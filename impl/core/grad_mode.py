"""Grad mode, inference mode and other thread-local modes: context managers and decorators.

See torch/autograd/grad_mode.py, c10/core/GradMode.h and c10/core/InferenceMode.h.
"""

from __future__ import annotations

import functools
import inspect
from typing import Any

from impl.core.named_types import type_name
from impl.core.state import STATE
from impl.core.warning import warn


def is_grad_enabled() -> bool:
    """The grad mode of this thread."""
    return STATE.grad_mode


def is_inference_mode_enabled() -> bool:
    """Whether this thread is in inference mode."""
    return STATE.inference


def is_multithreading_enabled() -> bool:
    """The flag set by `set_multithreading_enabled`."""
    return STATE.multithreading


def is_view_replay_enabled() -> bool:
    """The flag set by `_force_original_view_tracking`."""
    return STATE.view_replay


# -- decorators -------------------------------------------------------------------------------


def _decorated(mode, function):
    """Wrap `function` so that each call, or each step of a generator, runs in a new `mode()`."""
    if inspect.isgeneratorfunction(function):
        return _decorated_generator(mode, function)

    @functools.wraps(function)
    def wrapper(*args, **kwargs):
        with mode():
            return function(*args, **kwargs)

    return wrapper


def _decorated_generator(mode, function):
    @functools.wraps(function)
    def wrapper(*args, **kwargs):
        running = function(*args, **kwargs)
        step, given = running.send, None
        while True:
            try:
                with mode():
                    item = step(given)
            except StopIteration as stop:
                return stop.value
            try:
                step, given = running.send, (yield item)
            except GeneratorExit:
                with mode():
                    running.close()
                raise
            except BaseException as error:
                step, given = running.throw, error

    return wrapper


class _Mode:
    """A context manager that is also a decorator (torch's _DecoratorContextManager)."""

    def clone(self):
        """A new mode object for one call of a decorated function."""
        return type(self)()

    def __call__(self, function):
        if inspect.isclass(function):
            warn(
                "Decorating classes is deprecated and will be disabled in future versions. You "
                "should only decorate functions or methods. To preserve the current behavior of "
                "class decoration, you can directly decorate the `__init__` method and nothing "
                "else.",
                FutureWarning,
            )
            return _decorated(self.clone, lambda *args, **kwargs: function(*args, **kwargs))
        return _decorated(self.clone, function)


class _Switch(_Mode):
    """A mode that sets an attribute of the state on construction; its block restores it on exit."""

    attribute: str
    function: str  # the name of the function in torch's messages

    def __init__(self, mode: bool) -> None:
        self.prev = getattr(STATE, self.attribute)
        self.mode = check_bool(self.function, "enabled", 1, mode)
        setattr(STATE, self.attribute, mode)

    def clone(self):
        return type(self)(self.mode)

    def __call__(self, function):
        setattr(STATE, self.attribute, self.prev)
        return super().__call__(function)

    def __enter__(self) -> None:
        setattr(STATE, self.attribute, self.mode)

    def __exit__(self, *exc) -> None:
        setattr(STATE, self.attribute, self.prev)


def check_bool(function: str, argument: str, position: int, value: Any) -> bool:
    """Return the value. Raises TypeError, with torch's text, for anything but a bool."""
    if not isinstance(value, bool):
        raise TypeError(
            f"{function}(): argument '{argument}' (position {position}) must be bool, not "
            f"{type_name(value)}"
        )
    return value


# -- grad mode --------------------------------------------------------------------------------


class _NoParamDecoratorContextManager(_Mode):
    """Sets the grad mode within a block; usable as `with mode():`, `@mode()` and `@mode`."""

    wanted: bool
    prev = False

    def __new__(cls, orig_func=None):
        return super().__new__(cls) if orig_func is None else cls()(orig_func)

    def __enter__(self) -> None:
        self.prev = STATE.grad_mode
        STATE.grad_mode = self.wanted

    def __exit__(self, *exc) -> None:
        STATE.grad_mode = self.prev


class without_tangents:
    """Forward AD is off within the block: tensors appear to have no tangents."""

    def __enter__(self) -> None:
        self._before, STATE.forward = STATE.forward, False

    def __exit__(self, *exc) -> None:
        STATE.forward = self._before


class no_grad(_NoParamDecoratorContextManager):
    """Operators record no nodes within the block (torch.no_grad)."""

    wanted = False

    def __init__(self) -> None:  # which takes no None, unlike that of `enable_grad`
        self.prev = False


class enable_grad(_NoParamDecoratorContextManager):
    """Operators record nodes within the block, also inside `no_grad` (torch.enable_grad)."""

    wanted = True


class set_grad_enabled(_Switch):
    """Sets the grad mode on construction; leaving its block restores it (torch.set_grad_enabled).

    Raises TypeError for a mode that is no bool.
    """

    attribute = "grad_mode"
    function = "set_grad_enabled"

    def __init__(self, mode: bool) -> None:  # which Python's own messages name
        super().__init__(mode)

    def __repr__(self) -> str:
        return f"torch.autograd.grad_mode.set_grad_enabled(mode={self.mode})"


# -- inference mode ---------------------------------------------------------------------------


class inference_mode(_Mode):
    """Inference mode: operators record no nodes and make inference tensors (torch.inference_mode).

    `inference_mode(False)` switches it off within the block. Entering also switches grad mode, off
    or on; leaving restores both.
    """

    def __new__(cls, mode=True):
        return super().__new__(cls) if isinstance(mode, bool) else cls()(mode)

    _inference_mode_context: Any

    def __init__(self, mode: bool = True) -> None:
        self.mode = mode

    def clone(self) -> inference_mode:
        return inference_mode(self.mode)

    def __enter__(self) -> None:
        self._inference_mode_context = _InferenceGuard(self.mode)

    def __exit__(self, *exc) -> None:
        self._inference_mode_context.restore()


class _InferenceGuard:
    """Inference mode from its making to `restore`, or to the end of its life (c10's
    InferenceMode)."""

    def __init__(self, mode: bool) -> None:
        self._before: tuple | None = STATE.set_inference(mode, not mode, not mode)

    def restore(self) -> None:
        """Set the modes from before; nothing the second time."""
        if self._before is not None:
            STATE.set_inference(*self._before)
            self._before = None

    __del__ = restore


# -- switches ---------------------------------------------------------------------------------


class set_multithreading_enabled(_Switch):
    """Whether backward may use a thread per device; without effect, as there is only the CPU."""

    attribute = "multithreading"
    function = "set_multithreading_enabled"


class _force_original_view_tracking(_Switch):
    """Whether new views are regenerated, after a write to their base, by replaying their view
    operators instead of one `as_strided`."""

    attribute = "view_replay"
    function = "set_view_replay_enabled"


class enforce_grad_layout_policy(_Switch):
    """Whether a leaf's first gradient is copied if it violates the gradient layout contract."""

    attribute = "layout_policy"
    function = "set_grad_layout_enforcement_enabled"

    def __init__(self, enable: bool = True) -> None:
        super().__init__(enable)
