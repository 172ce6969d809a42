"""The half-normal distribution."""

from __future__ import annotations

import math

from impl.core.registry import C
from impl.distributions import _folded, constraints
from impl.distributions._parameters import reads, rebuilt, validated
from impl.distributions.normal import Normal
from impl.distributions.transformed_distribution import TransformedDistribution
from impl.distributions.transforms import AbsTransform
from impl.tensor.tensor import Tensor

__all__ = ["HalfNormal"]


class HalfNormal(TransformedDistribution):
    """The distribution of |x| for normal x of mean 0 and standard deviation `scale`.

    `scale` is a number or a floating tensor of the batch shape. Raises ValueError where it is not
    positive (torch.distributions.HalfNormal).
    """

    arg_constraints = {"scale": constraints.positive}
    support = constraints.nonnegative
    has_rsample = True
    base_dist: Normal

    def __init__(self, scale, validate_args: bool | None = None) -> None:
        base = Normal(0, scale, validate_args=False)
        super().__init__(base, AbsTransform(), validate_args=validate_args)

    def expand(self, batch_shape, _instance=None):
        return rebuilt(self, HalfNormal, batch_shape, _instance)

    scale = reads("base_dist.scale")

    @property
    def mean(self) -> Tensor:
        return self.scale * math.sqrt(2 / math.pi)

    @property
    def mode(self) -> Tensor:
        return C.zeros_like(self.scale)

    @property
    def variance(self) -> Tensor:
        return self.scale.pow(2) * (1 - 2 / math.pi)

    @validated
    def log_prob(self, value):
        return C.where(value >= 0, self.base_dist.log_prob(value) + _folded.LOG_2, -math.inf)

    cdf, icdf, entropy = _folded.cdf, _folded.icdf, _folded.entropy
