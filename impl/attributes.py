"""Attributes that can be read and not assigned, and say so in torch's words."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:  # type checkers know only the built-in one
    read_only = property
else:

    class read_only(property):
        """A property whose assignment raises AttributeError, with the name torch has for the class:
        its own, or where that is another, `_torch_name`."""

        def __set__(self, instance, value) -> None:
            owner = getattr(instance, "_torch_name", None) or type(instance).__name__
            raise AttributeError(
                f"attribute '{self.fget.__name__}' of '{owner}' objects is not writable"
            )
