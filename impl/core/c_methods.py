"""Methods that are in C in torch (METH_NOARGS, METH_O): their arguments have no names.

A class whose methods belong to a base class in C names it as `_c_class`. Functions have a name of
their own there.
"""

from __future__ import annotations

import functools
from typing import NoReturn


def without_arguments(method):
    """Decorator for a method of no arguments, which refuses others in CPython's words."""

    @functools.wraps(method)
    def called(self, *given, **named):
        if given or named:
            _refuse(_name_of(self, method), given, named, "no arguments")
        return method(self)

    return called


def of_one_argument(method):
    """Decorator for a method of one argument, which refuses others in CPython's words."""

    @functools.wraps(method)
    def called(self, *given, **named):
        if named or len(given) != 1:
            _refuse(_name_of(self, method), given, named, "exactly one argument")
        return method(self, *given)

    return called


def function_of_one_argument(name: str):
    """Decorator for a function of one argument, which refuses others in CPython's words."""

    def decorate(function):
        @functools.wraps(function)
        def called(*given, **named):
            if named or len(given) != 1:
                _refuse(name, given, named, "exactly one argument")
            return function(*given)

        return called

    return decorate


def _name_of(self, method) -> str:
    owner = getattr(type(self), "_c_class", type(self).__name__)
    return f"{owner}.{method.__name__}"


def _refuse(name: str, given, named, taken: str) -> NoReturn:
    words = "no keyword arguments" if named else f"{taken} ({len(given)} given)"
    raise TypeError(f"{name}() takes {words}")
