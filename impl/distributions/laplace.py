"""The Laplace (double exponential) distribution."""

from __future__ import annotations

from typing import Any

from impl.core.registry import C
from impl.core.sizes import Size
from impl.distributions import constraints
from impl.distributions._parameters import expanded, reads, set_parameters, validated
from impl.distributions.distribution import Distribution
from impl.factories.type_info import finfo
from impl.tensor.tensor import Tensor

__all__ = ["Laplace"]


class Laplace(Distribution):
    """The Laplace distribution with mean `loc` and mean absolute deviation `scale`.

    Both are numbers or floating tensors, broadcast to the batch shape. Raises ValueError where
    `scale` is not positive (torch.distributions.Laplace).
    """

    arg_constraints = {"loc": constraints.real, "scale": constraints.positive}
    support = constraints.real
    has_rsample = True
    loc: Any
    scale: Any

    mean = reads("loc")
    mode = reads("loc")

    @property
    def variance(self) -> Tensor:
        return 2 * self.scale.pow(2)

    @property
    def stddev(self) -> Tensor:
        return (2**0.5) * self.scale

    def __init__(self, loc, scale, validate_args: bool | None = None) -> None:
        super().__init__(set_parameters(self, loc=loc, scale=scale), validate_args=validate_args)

    def expand(self, batch_shape, _instance=None):
        return expanded(self, Laplace, batch_shape, _instance, ("loc", "scale"))

    def rsample(self, sample_shape=Size()) -> Tensor:
        uniform = self.loc.new(self._extended_shape(sample_shape))
        uniform.uniform_(finfo(self.loc.dtype).eps - 1, 1)
        return self.loc - self.scale * uniform.sign() * C.log1p(-uniform.abs())

    @validated
    def log_prob(self, value):
        return -C.log(2 * self.scale) - C.abs(value - self.loc) / self.scale

    @validated
    def cdf(self, value):
        deviation = value - self.loc
        return 0.5 - 0.5 * deviation.sign() * C.expm1(-deviation.abs() / self.scale)

    def icdf(self, value):
        centred = value - 0.5
        return self.loc - self.scale * centred.sign() * C.log1p(-2 * centred.abs())

    def entropy(self):
        return 1 + C.log(2 * self.scale)
