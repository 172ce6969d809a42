"""Grad mode: whether operators record, per thread, as context managers and decorators."""

from __future__ import annotations

import functools
import inspect
import threading


class _State(threading.local):
    """What is switched on in this thread, and the one value in which operators' calls read it.

    `path` is 1 (recording) or 0 (not) when nothing but the grad mode matters. It is None while
    anything `unusual` is active (each mode that wants to see every call counts itself there); then
    operators take the long way, which asks what it is.
    """

    path: int | None = 1
    _enabled = True
    _unusual = 0

    @property
    def enabled(self) -> bool:
        """Whether operators record."""
        return self._enabled

    @enabled.setter
    def enabled(self, value: bool) -> None:
        self._enabled = value
        if not self._unusual:
            self.path = 1 if value else 0

    @property
    def unusual(self) -> int:
        """How many modes are active that the short way of operators' calls does not serve."""
        return self._unusual

    @unusual.setter
    def unusual(self, count: int) -> None:
        self._unusual = count
        self.path = None if count else int(self._enabled)


STATE = _State()


def is_grad_enabled() -> bool:
    """Whether operators record in this thread."""
    return STATE.enabled


class _Mode:
    """A context manager that is a decorator too; a generator holds the mode only while it runs."""

    def __init__(self, value: bool) -> None:
        self._value = value

    def __enter__(self):
        self._previous = STATE.enabled
        STATE.enabled = self._value

    def __exit__(self, *exc) -> None:
        STATE.enabled = self._previous

    def clone(self) -> _Mode:
        return _Mode(self._value)

    def __call__(self, function):
        if inspect.isgeneratorfunction(function):

            @functools.wraps(function)
            def generator(*args, **kwargs):
                with self.clone():
                    running = function(*args, **kwargs)
                    try:
                        item = running.send(None)
                    except StopIteration as stop:
                        return stop.value
                while True:
                    try:
                        sent = yield item
                    except GeneratorExit:
                        with self.clone():
                            running.close()
                        raise
                    except BaseException as error:
                        with self.clone():
                            try:
                                item = running.throw(error)
                            except StopIteration as stop:
                                return stop.value
                    else:
                        with self.clone():
                            try:
                                item = running.send(sent)
                            except StopIteration as stop:
                                return stop.value

            return generator

        @functools.wraps(function)
        def wrapper(*args, **kwargs):
            with self.clone():
                return function(*args, **kwargs)

        return wrapper


class no_grad(_Mode):
    """Nothing recorded inside; usable as `with`, `@no_grad()` and `@no_grad`."""

    def __new__(cls, function=None):
        if function is None:
            return super().__new__(cls)
        return cls()(function)

    def __init__(self, function=None) -> None:
        super().__init__(False)


class enable_grad(_Mode):
    """Everything recorded inside, also within `no_grad`."""

    def __new__(cls, function=None):
        if function is None:
            return super().__new__(cls)
        return cls()(function)

    def __init__(self, function=None) -> None:
        super().__init__(True)


class set_grad_enabled(_Mode):
    """Sets the mode at once; as a context manager it also restores it."""

    def __init__(self, mode: bool) -> None:
        super().__init__(bool(mode))
        self._before = STATE.enabled
        STATE.enabled = self._value

    def __enter__(self):
        pass

    def __exit__(self, *exc) -> None:
        STATE.enabled = self._before

    def __call__(self, function):
        STATE.enabled = self._before
        return super().__call__(function)
