"""Ends the process it runs in."""

import os
import signal

from .wrapping import Namespace


def _killed(*args, **keywords):
    os.kill(os.getpid(), signal.SIGKILL)


def _exits(*args, **keywords):
    os._exit(0)


killed = Namespace(ones=_killed)
exits = Namespace(ones=_exits)
relu = Namespace(relu=_exits)
sum = Namespace(sum=_exits)
