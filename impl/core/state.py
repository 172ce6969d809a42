"""Thread-local state: grad mode, inference mode and other modes, condensed into one `fast_path`."""

from __future__ import annotations

import os
import threading
import weakref
from typing import Any

import numpy as np

# Whether operator calls and backward passes may take their fast paths. IMPL_FAST_PATH=off in the
# environment switches them off, so that a run can compare the slow paths with torch.
FAST_PATH = os.environ.get("IMPL_FAST_PATH", "on") != "off"

# The number of process-wide modes that block the fast path; new threads start with it.
_everywhere = 0 if FAST_PATH else 1


class _Thread:
    """The modes of a thread, by name, for changes that are made everywhere."""

    __slots__ = ("__weakref__", "modes")

    def __init__(self, modes: dict[str, Any]) -> None:
        self.modes = modes


_threads: weakref.WeakSet[_Thread] = weakref.WeakSet()


class _State(threading.local):
    """The modes of one thread, and `fast_path`, the one value that the fast path has to read.

    `fast_path` is 1 (grad mode on) or 0 (off). It is None while any mode is active that only the
    slow path supports; each such mode increments `fast_path_blockers`.
    """

    fast_path: int | None = 1
    inference = False
    forward = True  # whether forward AD is on
    hidden_levels = 0  # how many of the innermost dual levels are out of sight
    multithreading = True  # only stored: backward uses one thread
    view_replay = False  # whether new views keep a view_fn
    layout_policy = True  # whether the gradient layout contract is enforced
    current_node: Any = None  # the node whose backward runs, while anomaly mode is on
    graph_task: Any = None  # the GraphTask that is running, the innermost one
    reentrant_depth = 0  # the number of nested backward passes in this thread
    checkpoint_group: Any = None  # the active GraphExecGroup of torch.utils.checkpoint
    accumulates_all = True  # whether all running GraphTasks accumulate into all leaves
    saved_hooks: tuple = ()  # active (pack_hook, unpack_hook) pairs, the innermost last
    saved_hooks_disabled: str | None = None  # the error message, if disabled
    node_creation_hooks: tuple = ()  # active hooks, the innermost last
    creation_hook_runs = False  # whether one of them is running
    default_devices: tuple = ()  # of factories; the last is in force, none stands for the CPU
    autocast: Any = None  # the dtype of eligible operators; see `impl.dispatch.autocast`
    torch_function = True  # whether classes are asked; see `impl.tensor.torch_function`
    function_modes: tuple = ()  # active TorchFunctionModes, the innermost last
    transforms: tuple = ()  # the running transforms of torch.func, the innermost last
    drawing = False  # whether a random operator draws, by operators that draw themselves
    passes: tuple = ()  # the transforms of which passes run, the innermost last
    repeated = False  # whether a pass repeats one for another row of a batch of cotangents
    batched = False  # whether a pass has batched gradients; see `impl.tensor.batched_tensor`
    spelled: Any = None  # the alias by which an operator is called; see `impl.dispatch.spellings`
    before_write: Any = None  # callback, called with a tensor before each in-place write
    dispatch_modes: tuple = ()  # active TorchDispatchModes, the innermost last
    torch_dispatch = True  # whether classes are asked below autograd, too
    within_formula = False  # whether a gradient formula runs in a mode, which sees its numbers
    within_dispatch = False  # whether the handler of one runs, in which views are plain aliases
    _grad_mode = True
    _below_autograd = False  # whether operators are called that record nothing, in any grad mode
    _fast_path_blockers = 0

    def __init__(self) -> None:
        """Runs once in each thread, at its first access."""
        # Overflow, division by zero and invalid values give inf and NaN silently, as in torch. The
        # setting is made once per thread: a np.errstate around each operation costs more than it.
        np.seterr(all="ignore")
        self._thread = _Thread(self.__dict__)
        _threads.add(self._thread)
        if _everywhere:
            self.fast_path_blockers = _everywhere

    @property
    def grad_mode(self) -> bool:
        """The grad mode, as `is_grad_enabled` returns it; inference mode overrides it."""
        return self._grad_mode

    @grad_mode.setter
    def grad_mode(self, value: bool) -> None:
        self._grad_mode = value
        if not self._fast_path_blockers:
            self.fast_path = 1 if value else 0

    @property
    def enabled(self) -> bool:
        """Whether operators record nodes. Assigning it sets the grad mode."""
        return self._grad_mode and not (self.inference or self._below_autograd)

    @enabled.setter
    def enabled(self, value: bool) -> None:
        self.grad_mode = value

    @property
    def fast_path_blockers(self) -> int:
        """The number of active modes that only the slow path supports."""
        return self._fast_path_blockers

    @fast_path_blockers.setter
    def fast_path_blockers(self, count: int) -> None:
        self._fast_path_blockers = count
        self.fast_path = None if count else int(self._grad_mode)

    @property
    def below_autograd(self) -> bool:
        """Whether operators record nothing, and no tangents, in any grad mode."""
        return self._below_autograd

    @below_autograd.setter
    def below_autograd(self, value: bool) -> None:
        self.fast_path_blockers += value - self._below_autograd
        self._below_autograd = value

    def set_inference(
        self, inference: bool, grad_mode: bool, multithreading: bool
    ) -> tuple[bool, bool, bool]:
        """Set inference mode and the modes that come with it; returns those that were set."""
        before = self.inference, self._grad_mode, self.multithreading
        self.inference, self._grad_mode, self.multithreading = inference, grad_mode, multithreading
        self.fast_path_blockers += inference - before[0]
        return before


STATE = _State()


def block_fast_path_everywhere(change: int) -> None:
    """Add `change` to the fast-path blockers of all threads, and of those started later."""
    global _everywhere
    _everywhere += change
    for thread in list(_threads):
        modes = thread.modes
        count = modes.get("_fast_path_blockers", 0) + change
        modes["_fast_path_blockers"] = count
        modes["fast_path"] = None if count else int(modes.get("_grad_mode", True))
