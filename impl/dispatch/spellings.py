"""Aliases of operators (`clip_` of `clamp_`), which ATen has as operators of their own: its errors
and warnings show the alias by which an operator is called.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, NamedTuple

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
    name: str, overload: str | None = None, dispatched: bool = False
) -> Callable[[Callable], Callable]:
    """Decorate a function that shows by the name of an alias; see `Spelling`."""
    spelling = Spelling(name, overload, dispatched)

    def decorate(method: Callable) -> Callable:
        @functools.wraps(method)
        def call(*args, **named):
            return called_as(spelling, method, args, named)

        return call

    return decorate


def called_as(spelling: Spelling, method: Callable, args: tuple, named: dict) -> Any:
    """The result of a function, which shows by this spelling."""
    before, STATE.spelled = STATE.spelled, spelling
    try:
        return method(*args, **named)
    finally:
        STATE.spelled = before
