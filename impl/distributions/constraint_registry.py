"""`torch.distributions.constraint_registry`: a transform for each constraint, from all real
numbers to the values that satisfy it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from impl.distributions import constraints, transforms
from impl.types import _Number

__all__ = ["ConstraintRegistry", "biject_to", "transform_to"]


class ConstraintRegistry:
    """Transforms by classes of constraints
    (torch.distributions.constraint_registry.ConstraintRegistry).

    Called with a constraint, it returns the transform that its class's factory makes; raises
    NotImplementedError for a class without one. Superclasses do not count.
    """

    def __init__(self) -> None:
        self._registry: dict[type, Callable[[Any], transforms.Transform]] = {}

    def register(self, constraint: Any, factory: Any = None) -> Any:
        """Set the factory of a class of constraints, or of a constraint's class; without `factory`
        a decorator of it. Raises TypeError for anything else than constraints."""
        if factory is None:
            return lambda factory: self.register(constraint, factory)
        if isinstance(constraint, constraints.Constraint):
            constraint = type(constraint)
        if not (isinstance(constraint, type) and issubclass(constraint, constraints.Constraint)):
            raise TypeError(
                "Expected constraint to be either a Constraint subclass or instance, "
                f"but got {constraint}"
            )
        self._registry[constraint] = factory
        return factory

    def __call__(self, constraint: Any) -> transforms.Transform:
        factory = self._registry.get(type(constraint))
        if factory is None:
            raise NotImplementedError(f"Cannot transform {type(constraint).__name__} constraints")
        return factory(constraint)


biject_to = ConstraintRegistry()
"""Bijective transforms, with a Jacobian: for densities, as Hamiltonian Monte Carlo needs them."""

transform_to = ConstraintRegistry()
"""Transforms that act on each coordinate where they can: for optimizers, as of parameters."""


def _to_interval(constraint: Any) -> transforms.Transform:
    low, high = constraint.lower_bound, constraint.upper_bound
    numbers = isinstance(low, _Number) and isinstance(high, _Number)
    if numbers and low == 0 and high == 1:
        return transforms.SigmoidTransform()
    affine = transforms.AffineTransform(low, high - low)
    return transforms.ComposeTransform([transforms.SigmoidTransform(), affine])


def _to_half_line(bound: Any, direction: int) -> transforms.Transform:
    affine = transforms.AffineTransform(bound, direction)
    return transforms.ComposeTransform([transforms.ExpTransform(), affine])


# Constraints that both registries map the same way; a singleton stands for its class.
_IN_BOTH: tuple[tuple[Any, Callable[[Any], transforms.Transform]], ...] = (
    (constraints.real, lambda c: transforms.identity_transform),
    (constraints.greater_than, lambda c: _to_half_line(c.lower_bound, 1)),
    (constraints.greater_than_eq, lambda c: _to_half_line(c.lower_bound, 1)),
    (constraints.less_than, lambda c: _to_half_line(c.upper_bound, -1)),
    (constraints.interval, _to_interval),
    (constraints.half_open_interval, _to_interval),
    (constraints.corr_cholesky, lambda c: transforms.CorrCholeskyTransform()),
)

_BIJECTIVE_ONLY: tuple[tuple[Any, Callable[[Any], transforms.Transform]], ...] = (
    (constraints.simplex, lambda c: transforms.StickBreakingTransform()),
)

_NOT_BIJECTIVE: tuple[tuple[Any, Callable[[Any], transforms.Transform]], ...] = (
    (constraints.simplex, lambda c: transforms.SoftmaxTransform()),
    (constraints.lower_cholesky, lambda c: transforms.LowerCholeskyTransform()),
    (constraints.positive_definite, lambda c: transforms.PositiveDefiniteTransform()),
    (constraints.positive_semidefinite, lambda c: transforms.PositiveDefiniteTransform()),
)


def _register_compound(registry: ConstraintRegistry) -> None:
    """Register the constraints that are made from others, whose transforms `registry` has."""

    @registry.register(constraints.independent)
    def to_independent(c: Any) -> transforms.Transform:
        base = registry(c.base_constraint)
        return transforms.IndependentTransform(base, c.reinterpreted_batch_ndims)

    @registry.register(constraints.cat)
    def to_cat(c: Any) -> transforms.Transform:
        return transforms.CatTransform([registry(part) for part in c.cseq], c.dim, c.lengths)

    @registry.register(constraints.stack)
    def to_stack(c: Any) -> transforms.Transform:
        return transforms.StackTransform([registry(part) for part in c.cseq], c.dim)


for _registry, _own in ((biject_to, _BIJECTIVE_ONLY), (transform_to, _NOT_BIJECTIVE)):
    for _constraint, _factory in _IN_BOTH + _own:
        _registry.register(_constraint, _factory)
    _register_compound(_registry)
