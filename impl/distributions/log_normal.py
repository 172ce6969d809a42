"""The log-normal distribution."""

from __future__ import annotations

from impl.distributions import constraints
from impl.distributions._parameters import reads, rebuilt
from impl.distributions.normal import Normal
from impl.distributions.transformed_distribution import TransformedDistribution
from impl.distributions.transforms import ExpTransform
from impl.tensor.tensor import Tensor

__all__ = ["LogNormal"]


class LogNormal(TransformedDistribution):
    """The distribution whose logarithm is normal, of mean `loc` and standard deviation `scale`.

    Both are numbers or floating tensors, broadcast to the batch shape. Raises ValueError where
    `scale` is not positive (torch.distributions.LogNormal).
    """

    arg_constraints = {"loc": constraints.real, "scale": constraints.positive}
    support = constraints.positive
    has_rsample = True
    base_dist: Normal

    def __init__(self, loc, scale, validate_args: bool | None = None) -> None:
        base = Normal(loc, scale, validate_args=validate_args)
        super().__init__(base, ExpTransform(), validate_args=validate_args)

    def expand(self, batch_shape, _instance=None):
        return rebuilt(self, LogNormal, batch_shape, _instance)

    loc = reads("base_dist.loc")
    scale = reads("base_dist.scale")

    @property
    def mode(self) -> Tensor:
        return (self.loc - self.scale.square()).exp()

    @property
    def mean(self) -> Tensor:
        return (self.loc + self.scale.pow(2) / 2).exp()

    @property
    def variance(self) -> Tensor:
        squared = self.scale.pow(2)
        return squared.expm1() * (2 * self.loc + squared).exp()

    def entropy(self):
        return self.base_dist.entropy() + self.loc
