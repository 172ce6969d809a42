"""Aliases of operators (`clip_` of `clamp_`), which ATen has as operators of their own: its errors
and warnings show the alias by which an operator is called.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import NamedTuple

from impl.core.state import STATE


class Spelling(NamedTuple):
    """The alias by which an operator is called."""

    name: str
    overload: str | None = None
    """The alias's overload; None for that of the operator."""
    dispatched: bool = False
    """Whether dispatch modes see the alias, and not the operator that it is composed of."""


def forget() -> None:
    """Let the operators within the running one, such as those that write its tangents, show by
    their own names."""
    if STATE.spelled is not None and not STATE.spelled.dispatched:
        STATE.spelled = None


def spelled(
    name: str, method: Callable, overload: str | None = None, dispatched: bool = False
) -> Callable:
    """A function that shows by the name of an alias; see `Spelling`."""
    spelling = Spelling(name, overload, dispatched)

    @functools.wraps(method)
    def call(*args, **named):
        before, STATE.spelled = STATE.spelled, spelling
        try:
            return method(*args, **named)
        finally:
            STATE.spelled = before

    return call
