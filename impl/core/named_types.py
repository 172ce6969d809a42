"""Classes that C names with their module: `torch.Size` in the errors of Python itself."""

from __future__ import annotations


class NamedType(type):
    """The metaclass of a class of PyTorch's extension module.

    The interpreter's own messages show its full name (`'torch.Size' object has no attribute`),
    while its `__name__` is the last part of it.
    """

    def __new__(cls, name: str, bases: tuple, body: dict, module: str = "torch") -> NamedType:
        return super().__new__(cls, f"{module}.{body['__qualname__']}", bases, body)

    def __init__(cls, name: str, bases: tuple, body: dict, module: str = "torch") -> None:
        super().__init__(name, bases, body)

    @property
    def __name__(cls) -> str:  # type: ignore[override]
        return cls.__qualname__
