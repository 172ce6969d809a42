"""The inverse gamma distribution."""

from __future__ import annotations

import math

from impl.core.registry import C
from impl.distributions import constraints
from impl.distributions._parameters import reads, rebuilt
from impl.distributions.gamma import Gamma
from impl.distributions.transformed_distribution import TransformedDistribution
from impl.distributions.transforms import PowerTransform
from impl.tensor.tensor import Tensor

__all__ = ["InverseGamma"]


class InverseGamma(TransformedDistribution):
    """The distribution of 1 / x for x of a gamma distribution.

    `concentration` and `rate` are those of the gamma distribution, numbers or floating tensors,
    broadcast to the batch shape. The mean is inf for `concentration` up to 1, the variance for up
    to 2. Raises ValueError where one is not positive (torch.distributions.InverseGamma).
    """

    arg_constraints = {"concentration": constraints.positive, "rate": constraints.positive}
    support = constraints.positive
    has_rsample = True
    base_dist: Gamma

    def __init__(self, concentration, rate, validate_args: bool | None = None) -> None:
        base = Gamma(concentration, rate, validate_args=validate_args)
        inverse = PowerTransform(-base.rate.new_ones(()))
        super().__init__(base, inverse, validate_args=validate_args)

    def expand(self, batch_shape, _instance=None):
        return rebuilt(self, InverseGamma, batch_shape, _instance)

    concentration = reads("base_dist.concentration")
    rate = reads("base_dist.rate")

    @property
    def mean(self) -> Tensor:
        mean = self.rate / (self.concentration - 1)
        return C.where(self.concentration > 1, mean, math.inf)

    @property
    def mode(self) -> Tensor:
        return self.rate / (self.concentration + 1)

    @property
    def variance(self) -> Tensor:
        shape = self.concentration
        variance = self.rate.square() / ((shape - 1).square() * (shape - 2))
        return C.where(shape > 2, variance, math.inf)

    def entropy(self):
        shape = self.concentration
        return shape + self.rate.log() + shape.lgamma() - (1 + shape) * shape.digamma()
