"""The Kumaraswamy distribution."""

from __future__ import annotations

import math
from typing import Any

from impl.core.registry import C
from impl.distributions import constraints
from impl.distributions._parameters import rebuilt, set_parameters
from impl.distributions.transformed_distribution import TransformedDistribution
from impl.distributions.transforms import AffineTransform, PowerTransform
from impl.distributions.uniform import Uniform
from impl.distributions.utils import euler_constant
from impl.tensor.tensor import Tensor

__all__ = ["Kumaraswamy"]


def _moments(a, b, n):
    """The moment of order n: b B(1 + n/a, b), with B the beta function."""
    above = 1 + n / a
    return b * C.exp(C.lgamma(above) + C.lgamma(b) - C.lgamma(above + b))


class Kumaraswamy(TransformedDistribution):
    """The Kumaraswamy distribution on (0, 1), of shapes `concentration1` and `concentration0`.

    Both are numbers or floating tensors, broadcast to the batch shape. Draws are
    (1 - u ** (1 / concentration0)) ** (1 / concentration1) for uniform u. The mode is nan where a
    shape is below 1. Raises ValueError where one is not positive
    (torch.distributions.Kumaraswamy).

    M. C. Jones, "Kumaraswamy's distribution", Statistical Methodology 6, 2009.
    """

    arg_constraints = {
        "concentration1": constraints.positive,
        "concentration0": constraints.positive,
    }
    support = constraints.unit_interval
    has_rsample = True
    concentration1: Any
    concentration0: Any

    def __init__(self, concentration1, concentration0, validate_args: bool | None = None) -> None:
        set_parameters(self, concentration1=concentration1, concentration0=concentration0)
        base = Uniform(
            C.full_like(self.concentration0, 0),
            C.full_like(self.concentration0, 1),
            validate_args=validate_args,
        )
        first, last = (
            PowerTransform(exponent=shape.reciprocal())
            for shape in (self.concentration0, self.concentration1)
        )
        rest = AffineTransform(loc=1.0, scale=-1.0)
        super().__init__(base, [first, rest, last], validate_args=validate_args)

    def expand(self, batch_shape, _instance=None):
        return rebuilt(
            self, Kumaraswamy, batch_shape, _instance, ("concentration1", "concentration0")
        )

    @property
    def mean(self) -> Tensor:
        return _moments(self.concentration1, self.concentration0, 1)

    @property
    def mode(self) -> Tensor:
        a, b = self.concentration1, self.concentration0
        log_mode = b.reciprocal() * (-b).log1p() - (-b * a).log1p()
        log_mode[(b < 1) | (a < 1)] = math.nan
        return log_mode.exp()

    @property
    def variance(self) -> Tensor:
        second = _moments(self.concentration1, self.concentration0, 2)
        return second - C.pow(self.mean, 2)

    def entropy(self):
        a, b = self.concentration1, self.concentration0
        weight1, weight0 = 1 - a.reciprocal(), 1 - b.reciprocal()
        harmonic = C.digamma(b + 1) + euler_constant
        return weight0 + weight1 * harmonic - C.log(a) - C.log(b)
