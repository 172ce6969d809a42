"""Interruptions (SIGINT and SIGTERM) that end a run even where Python swallows exceptions.

SIGTERM, which `timeout` and cancelled jobs send, ends a run as Ctrl-C does: with a report of the
results so far. Python prints and drops an exception that is raised in a callback of a weak
reference or of the garbage collector, or in `__del__`. A run has thousands of these and would
continue after Ctrl-C. This module remembers the interruption, and `check` raises it again.
"""

from __future__ import annotations

import functools
import signal
import sys
import threading
from types import FrameType

_pending = False


def remember_interruptions() -> None:
    """Remember interruptions from now on, unless another handler is installed."""
    if threading.current_thread() is not threading.main_thread():
        return
    if signal.getsignal(signal.SIGTERM) is signal.SIG_DFL:
        signal.signal(signal.SIGTERM, _interrupt)
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, _interrupt)
        sys.unraisablehook = functools.partial(_unraisable, sys.unraisablehook)


def check() -> None:
    """Raise KeyboardInterrupt, once, for an interruption that Python may have dropped."""
    global _pending
    if _pending:
        _pending = False
        raise KeyboardInterrupt


def _interrupt(number: int, frame: FrameType | None) -> None:
    global _pending
    _pending = True
    signal.default_int_handler(number, frame)


def _unraisable(hook, unraisable) -> None:
    if not isinstance(unraisable.exc_value, KeyboardInterrupt):
        hook(unraisable)
