"""Sleeps a little, or forever."""

import time

from impl import ones

from .wrapping import Namespace


def _slow(*args, **keywords):
    time.sleep(0.2)
    return ones(*args, **keywords)


def _hanging(*args, **keywords):
    while True:
        time.sleep(0.01)


slow = Namespace(ones=_slow)
hanging = Namespace(ones=_hanging)
