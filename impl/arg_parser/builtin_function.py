"""Functions that are builtins in torch, as those of its C++ are."""

from __future__ import annotations

from typing import Any


class BuiltinFunction(staticmethod):
    """A function that a class which has it as an attribute does not make a method of.

    In `class Net: activation = torch.relu` it is called without the instance. It is copied and
    pickled by its name.
    """

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        return self

    def __reduce__(self) -> str:
        return self.__qualname__

    def __repr__(self) -> str:
        return f"<built-in method {self.__name__} of type object at {id(self):#x}>"
