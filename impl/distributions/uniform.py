"""The uniform distribution on an interval."""

from __future__ import annotations

import math
from typing import Any

from impl.core.registry import C
from impl.core.sizes import Size
from impl.distributions import constraints
from impl.distributions._parameters import expanded, set_parameters, validated
from impl.distributions.distribution import Distribution
from impl.tensor.tensor import Tensor

__all__ = ["Uniform"]


class Uniform(Distribution):
    """The uniform distribution on [`low`, `high`).

    Both are numbers or floating tensors, broadcast to the batch shape. The mode is nan. Raises
    ValueError where `low` is not below `high` (torch.distributions.Uniform).
    """

    has_rsample = True
    low: Any
    high: Any

    @property
    def arg_constraints(self) -> dict[str, constraints.Constraint]:
        return {
            "low": constraints.less_than(self.high),
            "high": constraints.greater_than(self.low),
        }

    @property
    def _length(self) -> Tensor:
        """That of the interval."""
        return self.high - self.low

    mean = property(lambda self: (self.high + self.low) / 2)
    mode = property(lambda self: math.nan * self.high)
    stddev = property(lambda self: self._length / math.sqrt(12))
    variance = property(lambda self: self._length.pow(2) / 12)

    def __init__(self, low, high, validate_args: bool | None = None) -> None:
        super().__init__(set_parameters(self, low=low, high=high), validate_args=validate_args)

    def expand(self, batch_shape, _instance=None):
        return expanded(self, Uniform, batch_shape, _instance, ("low", "high"))

    @constraints.dependent_property(is_discrete=False, event_dim=0)
    def support(self):
        return constraints.interval(self.low, self.high)

    def rsample(self, sample_shape=Size()) -> Tensor:
        shape = self._extended_shape(sample_shape)
        share = C.rand(shape, dtype=self.low.dtype, device=self.low.device)
        return self.low + share * self._length

    @validated
    def log_prob(self, value):
        above = self.low.le(value).type_as(self.low)
        below = self.high.gt(value).type_as(self.low)
        return C.log(above.mul(below)) - C.log(self._length)

    @validated
    def cdf(self, value):
        return ((value - self.low) / self._length).clamp(min=0, max=1)

    def icdf(self, value):
        return value * self._length + self.low

    def entropy(self):
        return C.log(self._length)
