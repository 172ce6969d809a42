"""Methods that are functions of C in torch (METH_NOARGS, METH_O): their arguments have no names.

A class whose methods belong to a base class in C names it as `_c_class`.
"""

from __future__ import annotations

import functools


def without_arguments(method):
    """Decorator for a method of no arguments, which refuses others in CPython's words."""

    @functools.wraps(method)
    def called(self, *given, **named):
        if given or named:
            _refuse(self, method, given, named, "no arguments")
        return method(self)

    return called


def of_one_argument(method):
    """Decorator for a method of one argument, which refuses others in CPython's words."""

    @functools.wraps(method)
    def called(self, *given, **named):
        if named or len(given) != 1:
            _refuse(self, method, given, named, "exactly one argument")
        return method(self, *given)

    return called


def _refuse(self, method, given, named, taken: str) -> None:
    words = "no keyword arguments" if named else f"{taken} ({len(given)} given)"
    owner = getattr(type(self), "_c_class", type(self).__name__)
    raise TypeError(f"{owner}.{method.__name__}() takes {words}")
