"""Interruptions (SIGINT, SIGTERM) whose KeyboardInterrupt was swallowed."""

from __future__ import annotations

import signal
import sys
import weakref

import pytest

from conformance.base import interruption


class Thing:
    """A referent of weak references."""


@pytest.fixture
def heeded():
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    terminated = signal.signal(signal.SIGTERM, signal.SIG_DFL)
    hook = sys.unraisablehook
    interruption.remember_interruptions()
    yield
    signal.signal(signal.SIGINT, before)
    signal.signal(signal.SIGTERM, terminated)
    sys.unraisablehook = hook
    interruption._pending = False


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interruption_that_was_swallowed_is_raised_again_and_not_printed(heeded, capfd, number):
    interruption.check()
    thing = Thing()
    reference = weakref.ref(thing, lambda _: signal.raise_signal(number))
    del thing  # a KeyboardInterrupt in the callback is ignored
    assert reference() is None
    with pytest.raises(KeyboardInterrupt):
        interruption.check()
    interruption.check()
    assert capfd.readouterr() == ("", "")


def test_a_handler_of_somebody_elses_stays():
    def handler(number, frame):
        pass

    before = signal.signal(signal.SIGINT, handler)
    try:
        interruption.remember_interruptions()
        assert signal.getsignal(signal.SIGINT) is handler
    finally:
        signal.signal(signal.SIGINT, before)
