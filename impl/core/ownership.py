"""Reference counts: whether the caller holds the only reference (c10's `use_count() == 1`).

An array without other references may be written in place or stolen instead of copied. The number of
references that a local name adds depends on the version of Python (3.14 borrows them), so the
counts are measured once, when this module is imported.

The argument of `getrefcount` is always a local name, never an attribute or an item, whose temporary
reference differs between versions.
"""

from __future__ import annotations

from sys import getrefcount


def _of_a_name() -> int:
    held = object()
    return getrefcount(held)


def _of_an_argument() -> int:
    held = object()
    return _count(held)


def _count(value) -> int:
    return getrefcount(value)


# The result of getrefcount for an object that only one local name refers to.
NAME = _of_a_name()
# The references added by each further frame to which the name is passed as an argument.
FRAME = _of_an_argument() - NAME
# The count for a local name and one other reference (a field, an item), for hot loops, which
# compare with it instead of calling `is_unshared`.
NAME_AND_HOLDER = NAME + 1


def is_unshared(value, holders: int = 0, frames: int = 0) -> bool:
    """Whether `value` has no references but the caller's local name and those listed.

    Args:
        value: the object, passed as the name of a local variable.
        holders: the number of known references from fields, items and names in other functions.
        frames: the number of calls through whose arguments the object reached the caller.
    """
    return getrefcount(value) <= NAME + holders + FRAME * (frames + 1)
