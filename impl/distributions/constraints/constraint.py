"""`Constraint`, the base of all constraints, and those that depend on further values."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from impl.tensor.tensor import Tensor


def require(condition: bool, message: str) -> None:
    """Raise AssertionError with that message unless the condition holds, under `python -O` too."""
    if not condition:
        raise AssertionError(message)


def require_dim(dim: int, value: Tensor, name: str) -> None:
    """Raise AssertionError unless `value` has a dimension `dim`."""
    ndim = value.dim()
    require(-ndim <= dim < ndim, f"dim {dim} out of range for {name} with {ndim} dimensions")


class Constraint:
    """A set of values, continuous or discrete (torch.distributions.constraints.Constraint).

    `event_dim` counts the rightmost dimensions that form one element of the set: 0 for numbers,
    1 for vectors, 2 for matrices. `is_discrete` tells whether the set is countable.
    """

    is_discrete = False
    event_dim = 0

    def check(self, value: Any) -> Any:
        """Whether each event of `value` is in the set: a bool tensor of `value`'s shape without
        its `event_dim` last dimensions."""
        raise NotImplementedError

    def __repr__(self) -> str:
        return f"{type(self).__name__[1:]}()"


class _Dependent(Constraint):
    """A set that depends on other values, such as the parameters of a distribution.

    `is_discrete` and `event_dim` may be known all the same; one that is not raises
    NotImplementedError where it is read. Called with either, it returns a copy that has it.
    """

    def __init__(self, *, is_discrete: Any = NotImplemented, event_dim: Any = NotImplemented):
        self._is_discrete = is_discrete
        self._event_dim = event_dim
        super().__init__()

    def _known(self, name: str) -> Any:
        value = getattr(self, f"_{name}")
        if value is NotImplemented:
            raise NotImplementedError(f".{name} cannot be determined statically")
        return value

    @property
    def is_discrete(self) -> bool:  # type: ignore[override]
        return self._known("is_discrete")

    @property
    def event_dim(self) -> int:  # type: ignore[override]
        return self._known("event_dim")

    def __call__(self, *, is_discrete: Any = NotImplemented, event_dim: Any = NotImplemented):
        return _Dependent(
            is_discrete=self._is_discrete if is_discrete is NotImplemented else is_discrete,
            event_dim=self._event_dim if event_dim is NotImplemented else event_dim,
        )

    def check(self, x: Any) -> Any:
        raise ValueError("Cannot determine validity of dependent constraint")


def is_dependent(constraint: Any) -> bool:
    """Whether a constraint can be tested only with further values
    (torch.distributions.constraints.is_dependent)."""
    return isinstance(constraint, _Dependent)


class _DependentProperty(property, _Dependent):
    """A property whose value is a constraint; read on the class it is a dependent constraint.

    As a decorator it takes the function at once, or first the known attributes of its values:
    `@dependent_property(is_discrete=False, event_dim=0)`.
    """

    def __init__(
        self,
        fn: Callable[..., Any] | None = None,
        *,
        is_discrete: Any = NotImplemented,
        event_dim: Any = NotImplemented,
    ) -> None:
        super().__init__(fn)
        self._is_discrete = is_discrete
        self._event_dim = event_dim

    def __call__(self, fn: Callable[..., Any]) -> _DependentProperty:  # type: ignore[override]
        return _DependentProperty(fn, is_discrete=self._is_discrete, event_dim=self._event_dim)
