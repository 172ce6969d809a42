"""The Weibull distribution."""

from __future__ import annotations

from typing import Any

from impl.core.registry import C
from impl.distributions import constraints
from impl.distributions._parameters import set_parameters
from impl.distributions.exponential import Exponential
from impl.distributions.transformed_distribution import TransformedDistribution
from impl.distributions.transforms import AffineTransform, PowerTransform
from impl.distributions.utils import euler_constant
from impl.tensor.tensor import Tensor

__all__ = ["Weibull"]


class Weibull(TransformedDistribution):
    """The Weibull distribution of scale `scale` and shape `concentration`.

    Both are numbers or floating tensors, broadcast to the batch shape. Draws are
    scale * x ** (1 / concentration) for x of the standard exponential distribution. Raises
    ValueError where one is not positive (torch.distributions.Weibull).
    """

    arg_constraints = {"scale": constraints.positive, "concentration": constraints.positive}
    support = constraints.positive
    scale: Any
    concentration: Any

    def __init__(self, scale, concentration, validate_args: bool | None = None) -> None:
        set_parameters(self, scale=scale, concentration=concentration)
        self.concentration_reciprocal = self.concentration.reciprocal()
        base = Exponential(C.ones_like(self.scale), validate_args=validate_args)
        super().__init__(base, self._transforms(), validate_args=validate_args)

    def _transforms(self) -> list:
        """The power and the scaling that make the distribution from its base."""
        power = PowerTransform(exponent=self.concentration_reciprocal)
        return [power, AffineTransform(loc=0, scale=self.scale)]

    def expand(self, batch_shape, _instance=None):
        new = self._get_checked_instance(Weibull, _instance)
        for name in ("scale", "concentration"):
            setattr(new, name, getattr(self, name).expand(batch_shape))
        new.concentration_reciprocal = new.concentration.reciprocal()
        base = self.base_dist.expand(batch_shape)
        super(Weibull, new).__init__(base, Weibull._transforms(new), validate_args=False)
        new._validate_args = self._validate_args
        return new

    @property
    def mean(self) -> Tensor:
        return self.scale * C.exp(C.lgamma(1 + self.concentration_reciprocal))

    @property
    def mode(self) -> Tensor:
        below_one = (self.concentration - 1) / self.concentration
        return self.scale * below_one ** self.concentration.reciprocal()

    @property
    def variance(self) -> Tensor:
        second = C.exp(C.lgamma(1 + 2 * self.concentration_reciprocal))
        first_squared = C.exp(2 * C.lgamma(1 + self.concentration_reciprocal))
        return self.scale.pow(2) * (second - first_squared)

    def entropy(self):
        reciprocal = self.concentration_reciprocal
        return euler_constant * (1 - reciprocal) + C.log(self.scale * reciprocal) + 1
