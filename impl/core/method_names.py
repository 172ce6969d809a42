"""The qualified names of methods, which Python shows in errors for arguments: those of torch."""

from __future__ import annotations

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
