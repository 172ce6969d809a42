"""The half-Cauchy distribution."""

from __future__ import annotations

import math

from impl.core.registry import C
from impl.distributions import _folded, constraints
from impl.distributions._parameters import reads, rebuilt, validated
from impl.distributions.cauchy import Cauchy
from impl.distributions.transformed_distribution import TransformedDistribution
from impl.distributions.transforms import AbsTransform
from impl.tensor.tensor import Tensor

__all__ = ["HalfCauchy"]


class HalfCauchy(TransformedDistribution):
    """The distribution of |x| for x of a Cauchy distribution of median 0 and width `scale`.

    `scale` is a number or a floating tensor of the batch shape. Mean and variance are inf. Raises
    ValueError where `scale` is not positive (torch.distributions.HalfCauchy).
    """

    arg_constraints = {"scale": constraints.positive}
    support = constraints.nonnegative
    has_rsample = True
    base_dist: Cauchy

    def __init__(self, scale, validate_args: bool | None = None) -> None:
        base = Cauchy(0, scale, validate_args=False)
        super().__init__(base, AbsTransform(), validate_args=validate_args)

    def expand(self, batch_shape, _instance=None):
        return rebuilt(self, HalfCauchy, batch_shape, _instance)

    scale = reads("base_dist.scale")

    @property
    def mean(self) -> Tensor:
        shape, scale = self._extended_shape(), self.scale
        return C.full(shape, math.inf, dtype=scale.dtype, device=scale.device)

    @property
    def mode(self) -> Tensor:
        return C.zeros_like(self.scale)

    variance = reads("base_dist.variance")

    @validated
    def log_prob(self, value):
        value = C.as_tensor(value, dtype=self.scale.dtype, device=self.scale.device)
        return C.where(value >= 0, self.base_dist.log_prob(value) + _folded.LOG_2, -math.inf)

    cdf, icdf, entropy = _folded.cdf, _folded.icdf, _folded.entropy
