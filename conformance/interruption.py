"""An interruption ends a run, even one that fell where Python swallows what is raised.

That is in the callbacks of weak references and in `__del__`, of which a run has thousands: there an
exception is printed and forgotten, and the run would go on for as long as it takes.
"""

from __future__ import annotations

import signal
import threading
from types import FrameType

_pending = False


def heed() -> None:
    """Remember interruptions (SIGINT) from now on, if nobody handles them in a way of his own."""
    main = threading.current_thread() is threading.main_thread()
    if main and signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, _interrupt)


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
