"""Classes that C names with their module: `torch.Size` in the errors of Python itself."""

from __future__ import annotations

from typing import Any

_HEAP_TYPE = 1 << 9  # Py_TPFLAGS_HEAPTYPE: the name of such a type has no module


class NamedType(type):
    """The metaclass of a class of PyTorch's extension module.

    The interpreter's own messages show its full name (`'torch.Size' object has no attribute`),
    while its `__name__` is the last part of it.
    """

    def __new__(cls, name: str, bases: tuple, body: dict, module: str = "torch") -> NamedType:
        return super().__new__(cls, f"{module}.{body.get('__qualname__', name)}", bases, body)

    def __init__(cls, name: str, bases: tuple, body: dict, module: str = "torch") -> None:
        super().__init__(name, bases, body)

    @property
    def __name__(cls) -> str:  # type: ignore[override]
        return cls.__qualname__


class FinalType(NamedType):
    """The metaclass of a class that programs can neither call nor derive from, whose instances
    `_make` makes."""

    def __new__(cls, name: str, bases: tuple, body: dict, module: str = "torch") -> Any:
        for base in bases:
            if isinstance(base, FinalType):
                raise TypeError(f"type '{_full_name(base)}' is not an acceptable base type")
        return super().__new__(cls, name, bases, body, module)

    def __call__(cls, *args, **named):
        """Raises TypeError."""
        raise TypeError(f"cannot create '{_full_name(cls)}' instances")

    def _make(cls, *args):
        return super().__call__(*args)


def _full_name(kind: type) -> str:
    return type.__dict__["__name__"].__get__(kind)


def type_name(value) -> str:
    """The name of a value's type in C, as messages show it: `int`, `numpy.int64`, `torch.Size`."""
    kind = type(value)
    if isinstance(kind, NamedType):
        return _full_name(kind)
    if kind.__module__ == "builtins" or kind.__flags__ & _HEAP_TYPE:
        return kind.__name__
    return f"{kind.__module__}.{kind.__name__}"
