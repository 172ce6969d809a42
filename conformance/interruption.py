"""An interruption ends a run, even one that fell where Python swallows what is raised.

That is in callbacks of weak references and of the garbage collector and in `__del__`, of which a
run has thousands: there an exception is printed and forgotten, and the run would go on for as long
as it takes. Here it is remembered, and not printed.
"""

from __future__ import annotations

import functools
import signal
import sys
import threading
from types import FrameType

_pending = False


def heed() -> None:
    """Remember interruptions (SIGINT) from now on, if nobody handles them in a way of his own."""
    main = threading.current_thread() is threading.main_thread()
    if main and signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, _interrupt)
        sys.unraisablehook = functools.partial(_unraisable, sys.unraisablehook)


def check() -> None:
    """Raise KeyboardInterrupt, once, for an interruption that may not have been heard."""
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
