"""The Cauchy (Lorentz) distribution."""

from __future__ import annotations

import math
from typing import Any

from impl.core.registry import C
from impl.core.sizes import Size
from impl.distributions import constraints
from impl.distributions._parameters import expanded, reads, set_parameters, validated
from impl.distributions.distribution import Distribution
from impl.tensor.tensor import Tensor

__all__ = ["Cauchy"]


class Cauchy(Distribution):
    """The Cauchy distribution with median `loc` and half width at half maximum `scale`.

    Both are numbers or floating tensors, broadcast to the batch shape. It has no mean, which is
    given as nan, and no variance, given as inf. Raises ValueError where `scale` is not positive
    (torch.distributions.Cauchy).
    """

    arg_constraints = {"loc": constraints.real, "scale": constraints.positive}
    support = constraints.real
    has_rsample = True
    loc: Any
    scale: Any

    def __init__(self, loc, scale, validate_args: bool | None = None) -> None:
        super().__init__(set_parameters(self, loc=loc, scale=scale), validate_args=validate_args)

    def expand(self, batch_shape, _instance=None):
        return expanded(self, Cauchy, batch_shape, _instance, ("loc", "scale"))

    def _constant(self, value: float) -> Tensor:
        """A tensor of the batch shape that holds one value."""
        shape = self._extended_shape()
        return C.full(shape, value, dtype=self.loc.dtype, device=self.loc.device)

    @property
    def mean(self) -> Tensor:
        return self._constant(math.nan)

    mode = reads("loc")

    @property
    def variance(self) -> Tensor:
        return self._constant(math.inf)

    def rsample(self, sample_shape=Size()) -> Tensor:
        noise = self.loc.new(self._extended_shape(sample_shape)).cauchy_()
        return self.loc + noise * self.scale

    @validated
    def log_prob(self, value):
        deviation = (value - self.loc) / self.scale
        return -math.log(math.pi) - self.scale.log() - (deviation**2).log1p()

    @validated
    def cdf(self, value):
        return C.atan((value - self.loc) / self.scale) / math.pi + 0.5

    def icdf(self, value):
        return C.tan(math.pi * (value - 0.5)) * self.scale + self.loc

    def entropy(self):
        return math.log(4 * math.pi) + self.scale.log()
