"""`OverCategories`, the base of distributions of vectors with an element for each class."""

from __future__ import annotations

from typing import Any

from impl.core.sizes import Size
from impl.distributions import constraints
from impl.distributions.categorical import Categorical
from impl.distributions.distribution import Distribution
from impl.tensor.tensor import Tensor


class OverCategories(Distribution):
    """A distribution with the parameters of a categorical one, `_categorical`, and vectors with an
    element for each of its classes as events."""

    arg_constraints: Any = {"probs": constraints.simplex, "logits": constraints.real_vector}
    _categorical: Categorical

    def _over(self, categorical: Categorical, validate_args: bool | None) -> None:
        """Set the categorical distribution, and shapes by it; check the parameters."""
        self._categorical = categorical
        event_shape = categorical.param_shape[-1:]
        Distribution.__init__(self, categorical.batch_shape, event_shape, validate_args)

    def _expanded(self, cls: type, batch_shape, instance) -> Any:
        """This distribution with its batch expanded, by the `expand` of `cls`."""
        new = self._get_checked_instance(cls, instance)
        new._over(self._categorical.expand(Size(batch_shape)), False)
        new._validate_args = self._validate_args
        return new

    def _new(self, *args, **kwargs) -> Tensor:
        return self._categorical._new(*args, **kwargs)

    @property
    def probs(self) -> Any:
        """The probability of each class."""
        return self._categorical.probs

    @property
    def logits(self) -> Any:
        """The log probability of each class."""
        return self._categorical.logits

    @property
    def param_shape(self) -> Size:
        """The shape of the parameter that was given."""
        return self._categorical.param_shape
