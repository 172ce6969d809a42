"""Named results of operators: classes like CPython's structseq, as in `torch.return_types`."""

from __future__ import annotations

import itertools
import time
from typing import Any, NoReturn

from impl.core.named_types import NamedType

RETURN_TYPES: dict[str, type] = {}  # by name, each also as NAME_out


_MISSING = object()


class _Field:
    """A field of a named result, which can be read by name but not set."""

    def __init__(self, owner: str, name: str, position: int) -> None:
        self._owner, self._name, self._position = owner, name, position

    def __get__(self, result, owner=None):
        return self if result is None else tuple.__getitem__(result, self._position)

    def __set__(self, result, value) -> NoReturn:
        raise AttributeError("readonly attribute")

    def __repr__(self) -> str:
        return f"<member '{self._name}' of '{self._owner}' objects>"


def _refuse_arguments(*given, **named) -> None:
    """Raise the TypeError of a class of CPython's own for arguments that suit none of them."""
    time.struct_time(*itertools.takewhile(lambda value: value is not _MISSING, given), **named)


def return_type(name: str, *fields: str) -> Any:
    """The class of an operator's named results, which is made from a sequence of the values.

    An operator returns the class NAME_out, its `out_type`, when the results are stored in `out=`.
    """
    made = _made(name, fields)
    made.out_type = _made(f"{name}_out", fields)
    return made


def _made(name: str, fields: tuple[str, ...]) -> Any:
    shown, count = f"torch.return_types.{name}", len(fields)

    def __new__(cls, sequence=_MISSING, dict=_MISSING, *more, **named):
        if more or named:
            _refuse_arguments(sequence, dict, *more, **named)
        try:
            values = tuple(sequence)
        except TypeError:
            _refuse_arguments(sequence)
            raise
        if len(values) != count:
            raise TypeError(f"{shown}() takes a {count}-sequence ({len(values)}-sequence given)")
        return tuple.__new__(cls, values)

    def __repr__(self):
        values = (f"{field}={value!r}" for field, value in zip(fields, self, strict=True))
        return f"{shown}(\n" + ",\n".join(values) + ")"

    def __reduce__(self):
        return type(self), (tuple(self), {})

    def __getattr__(self, attribute):
        raise AttributeError(f"{shown!r} object has no attribute {attribute!r}")

    def __init_subclass__(cls) -> NoReturn:
        raise TypeError(f"type '{shown}' is not an acceptable base type")

    body: dict[str, Any] = {f.__name__: f for f in (__new__, __repr__, __reduce__, __getattr__)}
    body |= {field: _Field(shown, field, i) for i, field in enumerate(fields)}
    body["__init_subclass__"] = classmethod(__init_subclass__)
    counts = {"n_fields": count, "n_sequence_fields": count, "n_unnamed_fields": 0}
    body |= {"__slots__": (), "__match_args__": fields, "__module__": "impl.return_types", **counts}
    body["__qualname__"] = name
    made = RETURN_TYPES[name] = NamedType(name, (tuple,), body, module="torch.return_types")
    return made
