"""The Pareto distribution of type I."""

from __future__ import annotations

from typing import Any

from impl.distributions import constraints
from impl.distributions._parameters import reads, rebuilt, set_parameters
from impl.distributions.exponential import Exponential
from impl.distributions.transformed_distribution import TransformedDistribution
from impl.distributions.transforms import AffineTransform, ExpTransform
from impl.tensor.tensor import Tensor

__all__ = ["Pareto"]


class Pareto(TransformedDistribution):
    """The Pareto distribution on [`scale`, inf) whose tail falls with the power `alpha`.

    Both are numbers or floating tensors, broadcast to the batch shape. The mean is inf for `alpha`
    up to 1, the variance for up to 2. Raises ValueError where one is not positive
    (torch.distributions.Pareto).
    """

    arg_constraints = {"alpha": constraints.positive, "scale": constraints.positive}
    scale: Any
    alpha: Any

    def __init__(self, scale, alpha, validate_args: bool | None = None) -> None:
        set_parameters(self, scale=scale, alpha=alpha)
        base = Exponential(self.alpha, validate_args=validate_args)
        transforms = [ExpTransform(), AffineTransform(loc=0, scale=self.scale)]
        super().__init__(base, transforms, validate_args=validate_args)

    def expand(self, batch_shape, _instance=None):
        return rebuilt(self, Pareto, batch_shape, _instance, ("scale", "alpha"))

    @property
    def mean(self) -> Tensor:
        alpha = self.alpha.clamp(min=1)
        return alpha * self.scale / (alpha - 1)

    mode = reads("scale")

    @property
    def variance(self) -> Tensor:
        alpha = self.alpha.clamp(min=2)
        return self.scale.pow(2) * alpha / ((alpha - 1).pow(2) * (alpha - 2))

    @constraints.dependent_property(is_discrete=False, event_dim=0)
    def support(self):
        return constraints.greater_than_eq(self.scale)

    def entropy(self) -> Tensor:
        return (self.scale / self.alpha).log() + (1 + self.alpha.reciprocal())
