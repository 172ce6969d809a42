"""Stacks: how deep backward passes may start one another, which Python's own stack would limit."""

from __future__ import annotations

import contextvars
import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any

from impl.core.state import STATE

# Passes that one thread's stack holds at a time; each takes a dozen frames, besides the caller's.
MAX_DEPTH = 20


def in_new_thread(function: Callable, *args) -> Any:
    """`function(*args)` where this thread's stack is full: in a thread that goes on with this one's
    modes while this one waits (as torch's engine does)."""
    outcome: Future = Future()
    modes = vars(STATE)
    thread = threading.Thread(
        target=contextvars.copy_context().run, args=(_go_on, modes, outcome, function, args)
    )
    thread.start()
    thread.join()
    return outcome.result()


def _go_on(modes: dict, outcome: Future, function: Callable, args: tuple) -> None:
    vars(STATE).update(modes, reentrant_depth=0)
    try:
        outcome.set_result(function(*args))
    except BaseException as error:
        outcome.set_exception(error)
    depth = modes["reentrant_depth"]
    modes.update(vars(STATE), reentrant_depth=depth)
