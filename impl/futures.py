"""`torch.futures`: values that another thread, or a later statement, will set."""

from __future__ import annotations

import sys
import threading
import traceback
from collections.abc import Callable, Sequence
from typing import Any, Generic, NoReturn, TypeVar

from impl.core.devices import device

__all__ = ["Future", "collect_all", "wait_all"]

T = TypeVar("T")
_TWICE = (
    "Attempting to mark a completed Future as complete again. Note that a Future can only be "
    "marked completed once."
)
_FAILED = "Got the following error when running the callback: "


class _Future:
    """A value to come, and the callbacks that get the future when it is there (torch._C.Future).

    Raises ValueError for a device without an index.
    """

    def __init__(self, devices: Sequence[device]) -> None:
        for given in devices:
            if given.index is None:
                raise ValueError(f"Expected devices to have indices, got {given}")
        self._changed = threading.Condition()
        self._done = False
        self._held: Any = None
        self._error: str | None = None  # of a callback that made this future's value
        self._unwrap: Callable | None = None
        self._callbacks: list[Callable] = []

    def done(self) -> bool:
        """Whether there is a value or an error."""
        return self._done

    def wait(self) -> Any:
        """The value, once it is there; raises the exception that was set, and RuntimeError for the
        error of a callback."""
        with self._changed:
            self._changed.wait_for(self.done)
        return self.value()

    def value(self) -> Any:
        """The value as `wait` gives it; RuntimeError where there is none yet."""
        if not self._done:
            raise RuntimeError("completed() INTERNAL ASSERT FAILED: the Future has no value yet")
        if self._error is not None:
            raise RuntimeError(self._error)
        return self._held if self._unwrap is None else self._unwrap(self._held)

    def set_result(self, result: Any) -> None:
        """Set the value, and call the callbacks; RuntimeError for a second time."""
        self._complete(result)

    def _complete(self, result: Any, error: str | None = None) -> None:
        with self._changed:
            if self._done:
                raise RuntimeError(_TWICE)
            self._held, self._error, self._done = result, error, True
            callbacks, self._callbacks = self._callbacks, []
            self._changed.notify_all()
        for callback in callbacks:
            callback()

    def _when_done(self, callback: Callable) -> None:
        with self._changed:
            if not self._done:
                self._callbacks.append(callback)
                return
        callback()

    def then(self, callback: Callable) -> Any:
        """A future of the result of `callback(self)`, which is called when the value is there."""
        _require_function("then", callback)
        child = _Future([])

        def run() -> None:
            try:
                result = callback(self)
            except Exception as error:
                child._complete(None, _told(error))
            else:
                child._complete(result)

        self._when_done(run)
        return child

    def add_done_callback(self, callback: Callable) -> None:
        """Call `callback(self)` when the value is there; an error of it is printed."""
        _require_function("add_done_callback", callback)

        def run() -> None:
            try:
                callback(self)
            except Exception as error:
                print(_told(error), file=sys.stderr)

        self._when_done(run)

    def __reduce__(self) -> NoReturn:
        raise RuntimeError("Can not pickle torch.futures.Future")


_Future.__name__ = _Future.__qualname__ = "Future"
_Future.__module__ = "impl"


def _require_function(name: str, callback: Any) -> None:
    if not callable(callback):
        raise TypeError(f"{name}(): incompatible function arguments: {callback!r} is no function")


def _told(error: Exception) -> str:
    """The error of a callback with the frames that it went through, innermost first."""
    frames = reversed(traceback.extract_tb(error.__traceback__)[1:])
    places = "".join(f"  {frame.filename}({frame.lineno}): {frame.name}\n" for frame in frames)
    return f"{_FAILED}{type(error).__name__}: {error}\n\nAt:\n{places}"


class Future(_Future, Generic[T]):
    """A value to come (torch.futures.Future)."""

    __module__ = "impl.jit"

    def __init__(self, *, devices: Sequence[Any] | None = None) -> None:
        super().__init__([device(given) for given in devices or []])

    def set_exception(self, result: Any) -> None:
        """Set an exception, which `wait` and `value` raise. AssertionError for anything else."""
        if not isinstance(result, Exception):
            raise AssertionError(f"{result} is of type {type(result)}, not an Exception.")

        def raise_error(error: Exception) -> NoReturn:
            raise error

        self._unwrap = raise_error
        self.set_result(result)


def collect_all(futures: Sequence[Any]) -> Any:
    """A future of the list of futures, done when all of them are."""
    if not isinstance(futures, Sequence) or not all(isinstance(f, _Future) for f in futures):
        raise TypeError("_collect_all(): incompatible function arguments: no list of futures")
    futures = list(futures)
    collected = _Future([])
    if not futures:
        collected.set_result([])
        return collected
    collected._unwrap = futures[0]._unwrap  # torch's own choice
    left = threading.Semaphore(len(futures) - 1)

    def one_is_done() -> None:
        if not left.acquire(blocking=False):
            collected.set_result(futures)

    for future in futures:
        future._when_done(one_is_done)
    return collected


def wait_all(futures: Sequence[Any]) -> list[Any]:
    """The values of all futures, once they are there."""
    return [future.wait() for future in collect_all(futures).wait()]
