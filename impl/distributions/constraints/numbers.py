"""Constraints of numbers: intervals, half lines and the integers among them."""

from __future__ import annotations

from typing import Any

from impl.core.method_names import owns_methods_of
from impl.distributions.constraints.constraint import Constraint


def _is_binary(value: Any) -> Any:
    return (value == 0) | (value == 1)


class _Boolean(Constraint):
    """The numbers 0 and 1."""

    is_discrete = True

    def check(self, value: Any) -> Any:
        return _is_binary(value)


class _Bounded(Constraint):
    """Numbers between the bounds of the instance, which are its attributes and are shown."""

    def __repr__(self) -> str:
        bounds = ", ".join(f"{name}={value}" for name, value in vars(self).items())
        return f"{type(self).__name__[1:]}({bounds})"


class _BoundedBelow(_Bounded):
    """Numbers from `lower_bound`, a number or a tensor, on."""

    def __init__(self, lower_bound: Any) -> None:
        self.lower_bound = lower_bound


class _BoundedAbove(_Bounded):
    """Numbers up to `upper_bound`, a number or a tensor."""

    def __init__(self, upper_bound: Any) -> None:
        self.upper_bound = upper_bound


class _BoundedTwice(_Bounded):
    """Numbers from `lower_bound` to `upper_bound`, numbers or tensors."""

    def __init__(self, lower_bound: Any, upper_bound: Any) -> None:
        self.lower_bound = lower_bound
        self.upper_bound = upper_bound


@owns_methods_of(_BoundedTwice)
class _IntegerInterval(_BoundedTwice):
    """The integers of the closed interval [`lower_bound`, `upper_bound`]."""

    is_discrete = True

    def check(self, value: Any) -> Any:
        return (value % 1 == 0) & (self.lower_bound <= value) & (value <= self.upper_bound)


@owns_methods_of(_BoundedAbove)
class _IntegerLessThan(_BoundedAbove):
    """The integers up to `upper_bound`, which is among them."""

    is_discrete = True

    def check(self, value: Any) -> Any:
        return (value % 1 == 0) & (value <= self.upper_bound)


@owns_methods_of(_BoundedBelow)
class _IntegerGreaterThan(_BoundedBelow):
    """The integers from `lower_bound`, which is among them, on."""

    is_discrete = True

    def check(self, value: Any) -> Any:
        return (value % 1 == 0) & (value >= self.lower_bound)


class _Real(Constraint):
    """The extended real line: every number but NaN."""

    def check(self, value: Any) -> Any:
        return value == value


@owns_methods_of(_BoundedBelow)
class _GreaterThan(_BoundedBelow):
    """The open half line above `lower_bound`."""

    def check(self, value: Any) -> Any:
        return self.lower_bound < value


@owns_methods_of(_BoundedBelow)
class _GreaterThanEq(_BoundedBelow):
    """The closed half line from `lower_bound` on."""

    def check(self, value: Any) -> Any:
        return self.lower_bound <= value


@owns_methods_of(_BoundedAbove)
class _LessThan(_BoundedAbove):
    """The open half line below `upper_bound`."""

    def check(self, value: Any) -> Any:
        return value < self.upper_bound


@owns_methods_of(_BoundedTwice)
class _Interval(_BoundedTwice):
    """The closed interval [`lower_bound`, `upper_bound`]."""

    def check(self, value: Any) -> Any:
        return (self.lower_bound <= value) & (value <= self.upper_bound)


@owns_methods_of(_BoundedTwice)
class _HalfOpenInterval(_BoundedTwice):
    """The interval [`lower_bound`, `upper_bound`), without its upper end."""

    def check(self, value: Any) -> Any:
        return (self.lower_bound <= value) & (value < self.upper_bound)
