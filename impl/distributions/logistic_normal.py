"""The logistic-normal distribution on the simplex."""

from __future__ import annotations

from impl.distributions import constraints
from impl.distributions._parameters import reads, rebuilt
from impl.distributions.independent import Independent
from impl.distributions.normal import Normal
from impl.distributions.transformed_distribution import TransformedDistribution
from impl.distributions.transforms import StickBreakingTransform

__all__ = ["LogisticNormal"]


class LogisticNormal(TransformedDistribution):
    """Independent normal numbers, mapped to the simplex by breaking a stick.

    `loc` and `scale` are numbers or floating tensors, broadcast to batch shape + (n,); draws have
    n + 1 elements, which sum to 1. Raises ValueError where `scale` is not positive
    (torch.distributions.LogisticNormal).

    J. Aitchison and S. M. Shen, "Logistic-normal distributions: some properties and uses",
    Biometrika 67, 1980.
    """

    arg_constraints = {"loc": constraints.real, "scale": constraints.positive}
    support = constraints.simplex
    has_rsample = True
    base_dist: Independent

    def __init__(self, loc, scale, validate_args: bool | None = None) -> None:
        base = Normal(loc, scale, validate_args=validate_args)
        if not base.batch_shape:
            base = base.expand([1])
        super().__init__(base, StickBreakingTransform(), validate_args=validate_args)

    def expand(self, batch_shape, _instance=None):
        return rebuilt(self, LogisticNormal, batch_shape, _instance)

    loc = reads("base_dist.base_dist.loc")
    scale = reads("base_dist.base_dist.scale")
