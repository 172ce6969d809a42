"""Names that Python shows in errors for arguments: those of torch."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from inspect import Parameter
from types import FunctionType
from typing import Any


def rename(cls: Any, method: str, qualified: str) -> None:
    """Let a class have a method of its own, equal to the one that it inherits but for its name."""
    found = getattr(cls, method, None)
    if not isinstance(found, FunctionType) or found.__qualname__ == qualified:
        return
    copy = FunctionType(
        found.__code__, found.__globals__, method, found.__defaults__, found.__closure__
    )
    copy.__kwdefaults__, copy.__annotations__ = found.__kwdefaults__, found.__annotations__
    copy.__doc__, copy.__qualname__ = found.__doc__, qualified
    setattr(cls, method, copy)


def part_of(name: str):
    """Decorator for a part of one class that has a file of its own: its methods have the name of
    the class."""

    def decorate(part: type) -> type:
        for method, member in vars(part).items():
            function = getattr(member, "__func__", member)
            if isinstance(function, FunctionType):
                function.__qualname__ = f"{name}.{method}"
        return part

    return decorate


def owns_methods_of(*bases: type):
    """Decorator for a class that has methods in common with others, in these private bases: it gets
    them under its own name."""

    def decorate(cls: type) -> type:
        for base in bases:
            for method in vars(base):
                if method not in vars(cls):
                    rename(cls, method, f"{cls.__name__}.{method}")
        return cls

    return decorate


def defined(source: str, qualified: str, names: dict[str, Any]) -> Callable[..., Any]:
    """The function that a source text defines among these names, with its qualified name."""
    exec(compile(source, __file__, "exec"), names)
    function = names[qualified.rpartition(".")[2]]
    function.__qualname__ = qualified
    return function


def hands_on(*keywords: str):
    """Decorator for a function that hands its `**options` on, whose names these are: arguments that
    it does not take are refused in CPython's words, as if it listed the options."""

    def decorate(function):
        own = inspect.signature(function).parameters.values()
        taken = [
            p.replace(annotation=p.empty, default=p.empty if p.default is p.empty else None)
            for p in own
            if p.kind is not p.VAR_KEYWORD
        ]
        taken += [Parameter(name, Parameter.KEYWORD_ONLY, default=None) for name in keywords]
        name = function.__name__
        check = defined(f"def {name}{inspect.Signature(taken)}: pass", name, {})

        @functools.wraps(function)
        def call(*args, **named):
            check(*args, **named)
            return function(*args, **named)

        return call

    return decorate
