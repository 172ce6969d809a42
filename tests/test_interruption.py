"""Interruptions that nobody heard."""

from __future__ import annotations

import signal
import sys
import weakref

import pytest

from conformance import interruption


class Thing:
    """Something to refer to weakly."""


@pytest.fixture
def heeded():
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    hook = sys.unraisablehook
    interruption.heed()
    yield
    signal.signal(signal.SIGINT, before)
    sys.unraisablehook = hook
    interruption._pending = False


def test_an_interruption_that_was_swallowed_is_raised_again_and_not_printed(heeded, capfd):
    interruption.check()
    thing = Thing()
    reference = weakref.ref(thing, lambda _: signal.raise_signal(signal.SIGINT))
    del thing  # the callback's KeyboardInterrupt goes nowhere
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
        interruption.heed()
        assert signal.getsignal(signal.SIGINT) is handler
    finally:
        signal.signal(signal.SIGINT, before)
