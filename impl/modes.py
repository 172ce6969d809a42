"""Modes: what a thread has switched on, and the context managers and decorators that switch it."""

from __future__ import annotations

import functools
import inspect
import threading
import warnings
from typing import Any

import numpy as np

# The modes of the whole process; only the number of those active, which new threads begin with.
_everywhere = 0


class _State(threading.local):
    """What is switched on in this thread, and the one value in which operators' calls read it.

    `path` is 1 (recording) or 0 (not) when nothing but the grad mode matters. It is None while
    anything `unusual` is active (each mode that wants to see every call counts itself there); then
    operators take the long way, which asks what it is.
    """

    path: int | None = 1
    inference = False
    forward = True  # whether tangents are seen
    multithreading = True  # for programs that ask: there are no other threads to use
    view_replay = False  # whether views remember how they were made
    layout_policy = True  # whether a first gradient has to have its leaf's layout
    evaluating: Any = None  # the node whose backward runs, while anomaly mode is on
    task: Any = None  # the backward pass under way, the innermost one
    level = 0  # how many backward passes are under way in this thread, each within the other
    group: Any = None  # the GraphExecGroup that backward passes are in
    whole = True  # whether that pass, and those around it, accumulate into all leaves
    saved_hooks: tuple = ()  # the active pairs of pack and unpack, the innermost last
    saved_hooks_refused: str | None = None  # what to say when somebody activates such hooks
    autocast: Any = None  # the dtype that eligible operators compute in; see `impl.autocast`
    batched = False  # whether a pass runs over batches; see `impl.batched`
    before_write: Any = None  # called with a tensor that is about to be written
    _grad_mode = True
    _unusual = 0

    def __init__(self) -> None:
        """Called in each thread that gets here."""
        # Overflow, division by zero and invalid values are results here, as in torch, not events;
        # saying so once costs nothing, and around each operation more than the operation.
        np.seterr(all="ignore")
        if _everywhere:
            self.unusual = _everywhere

    @property
    def grad_mode(self) -> bool:
        """What `is_grad_enabled` reports; inference mode overrules it."""
        return self._grad_mode

    @grad_mode.setter
    def grad_mode(self, value: bool) -> None:
        self._grad_mode = value
        if not self._unusual:
            self.path = 1 if value else 0

    @property
    def enabled(self) -> bool:
        """Whether operators record. Assigning it sets the grad mode."""
        return self._grad_mode and not self.inference

    @enabled.setter
    def enabled(self, value: bool) -> None:
        self.grad_mode = value

    @property
    def unusual(self) -> int:
        """How many modes are active that the short way of operators' calls does not serve."""
        return self._unusual

    @unusual.setter
    def unusual(self, count: int) -> None:
        self._unusual = count
        self.path = None if count else int(self._grad_mode)

    def infer(self, inference: bool, grad_mode: bool) -> tuple[bool, bool]:
        """Set inference and grad mode together; returns what they were."""
        before = self.inference, self._grad_mode
        self.inference, self._grad_mode = inference, grad_mode
        self.unusual += inference - before[0]
        return before


STATE = _State()


def count_everywhere(change: int) -> None:
    """Count a mode of the whole process among what is unusual, here and in threads to come."""
    global _everywhere
    _everywhere += change
    STATE.unusual += change


def is_grad_enabled() -> bool:
    """The grad mode of this thread."""
    return STATE.grad_mode


def is_inference_mode_enabled() -> bool:
    """Whether this thread is in inference mode."""
    return STATE.inference


def is_multithreading_enabled() -> bool:
    """What `set_multithreading_enabled` last said."""
    return STATE.multithreading


def is_view_replay_enabled() -> bool:
    """What `_force_original_view_tracking` last said."""
    return STATE.view_replay


# -- decorators -------------------------------------------------------------------------------


def _decorated(mode, function):
    """`function` under a new mode object, from `mode()`, for each call or each of its steps."""
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
    """A context manager that is a decorator too."""

    def clone(self):
        """A mode object of its own for one call of a decorated function."""
        return type(self)()

    def __call__(self, function):
        if inspect.isclass(function):
            warnings.warn(
                "Decorating classes is deprecated and will be disabled in future versions. You "
                "should only decorate functions or methods. To preserve the current behavior of "
                "class decoration, you can directly decorate the `__init__` method and nothing "
                "else.",
                FutureWarning,
                stacklevel=2,
            )
            return _decorated(self.clone, lambda *args, **kwargs: function(*args, **kwargs))
        return _decorated(self.clone, function)


class _Switch(_Mode):
    """A mode that is one attribute of the state, set at the call and restored by the block."""

    attribute: str
    function: str  # what torch's message calls it

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
    """The value. Raises TypeError for anything but a bool, in torch's words."""
    if not isinstance(value, bool):
        raise TypeError(
            f"{function}(): argument '{argument}' (position {position}) must be bool, not "
            f"{type(value).__name__}"
        )
    return value


# -- grad mode --------------------------------------------------------------------------------


class _GradMode(_Mode):
    """Sets the grad mode inside; usable as `with mode():`, `@mode()` and `@mode`."""

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
    """Where forward mode sees nothing, whatever has a tangent."""

    def __enter__(self) -> None:
        self._before, STATE.forward = STATE.forward, False

    def __exit__(self, *exc) -> None:
        STATE.forward = self._before


class no_grad(_GradMode):
    """Nothing is recorded inside (torch.no_grad)."""

    wanted = False


class enable_grad(_GradMode):
    """Everything is recorded inside, also within `no_grad` (torch.enable_grad)."""

    wanted = True


class set_grad_enabled(_Switch):
    """Sets the mode at once; as a context manager it also restores it (torch.set_grad_enabled).

    Raises TypeError for a mode that is no bool.
    """

    attribute = "grad_mode"
    function = "set_grad_enabled"

    def __repr__(self) -> str:
        return f"torch.autograd.grad_mode.set_grad_enabled(mode={self.mode})"


# -- inference mode ---------------------------------------------------------------------------


class inference_mode(_Mode):
    """Nothing is recorded inside, and what is made inside can never be (torch.inference_mode).

    `inference_mode(False)` is the opposite. Grad mode is off inside, or on, and restored with it.
    """

    def __new__(cls, mode=True):
        return super().__new__(cls) if isinstance(mode, bool) else cls()(mode)

    def __init__(self, mode: bool = True) -> None:
        self.mode = mode

    def clone(self) -> inference_mode:
        return inference_mode(self.mode)

    def __enter__(self) -> None:
        self._before = STATE.infer(self.mode, not self.mode)

    def __exit__(self, *exc) -> None:
        STATE.infer(*self._before)


# -- switches ---------------------------------------------------------------------------------


class set_multithreading_enabled(_Switch):
    """Whether backward may use threads for other devices, of which there are none here."""

    attribute = "multithreading"
    function = "set_multithreading_enabled"


class _force_original_view_tracking(_Switch):
    """Whether views made from now on are made again, after a write to their base, by the same
    operators, and not by one `as_strided`."""

    attribute = "view_replay"
    function = "set_view_replay_enabled"


class enforce_grad_layout_policy(_Switch):
    """Whether a first gradient is copied if it has another layout than its leaf asks for."""

    attribute = "layout_policy"
    function = "set_grad_layout_enforcement_enabled"

    def __init__(self, enable: bool = True) -> None:
        super().__init__(enable)
