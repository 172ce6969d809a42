"""Read-only properties whose assignment and deletion raise torch's error."""

from __future__ import annotations

from types import FunctionType
from typing import TYPE_CHECKING, cast

if TYPE_CHECKING:  # type checkers understand only the built-in property
    read_only = property
else:

    class read_only(property):
        """A property whose assignment, and deletion, raises AttributeError.

        The message names the class by `_torch_name` if it has one, else by its own name.
        """

        def __set__(self, instance, value) -> None:
            owner = getattr(instance, "_torch_name", None) or type(instance).__name__
            raise AttributeError(
                f"attribute '{self.fget.__name__}' of '{owner}' objects is not writable"
            )

        def __delete__(self, instance) -> None:
            self.__set__(instance, None)


def add_read_only(owner: type, name: str, getter, doc: str | None = None) -> None:
    """Give a class that exists a read-only property of this name."""
    cast(FunctionType, getter).__name__ = name
    setattr(owner, name, read_only(getter, doc=doc))
