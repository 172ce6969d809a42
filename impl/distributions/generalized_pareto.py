"""The generalized Pareto distribution."""

from __future__ import annotations

import math
from typing import Any

from impl.core.registry import C
from impl.core.sizes import Size
from impl.distributions import constraints
from impl.distributions._parameters import expanded, reads, set_parameters, validated
from impl.distributions.distribution import Distribution

__all__ = ["GeneralizedPareto"]

_NAMES = ("loc", "scale", "concentration")


class GeneralizedPareto(Distribution):
    """The generalized Pareto distribution of excesses over `loc`.

    `loc`, `scale` and the shape `concentration` are numbers or floating tensors, broadcast to the
    batch shape. A shape within 1e-8 of 0 is the exponential distribution; below 0 the support is
    bounded. The mean is nan for shapes from 1, the variance for shapes from 1/2. Raises ValueError
    where `scale` is not positive. `log_prob` and `cdf` are for parameters of the default dtype
    only, and raise RuntimeError for others (torch.distributions.GeneralizedPareto).

    J. Pickands, "Statistical inference using extreme order statistics", Annals of Statistics 3,
    1975.
    """

    arg_constraints = {
        "loc": constraints.real,
        "scale": constraints.positive,
        "concentration": constraints.real,
    }
    has_rsample = True
    loc: Any
    scale: Any
    concentration: Any

    def __init__(self, loc, scale, concentration, validate_args=None):
        shape = set_parameters(self, loc=loc, scale=scale, concentration=concentration)
        super().__init__(shape, validate_args=validate_args)

    def expand(self, batch_shape, _instance=None):
        return expanded(self, GeneralizedPareto, batch_shape, _instance, _NAMES)

    def rsample(self, sample_shape=Size()):
        shape = self._extended_shape(sample_shape)
        return self.icdf(C.rand(shape, dtype=self.loc.dtype, device=self.loc.device))

    def _shape(self, dtype=None) -> tuple[Any, Any]:
        """Whether the shape is 0, and the shape with 1 in those places, to divide by.

        `dtype` is that of the 0 compared with, by default the default dtype. RuntimeError where
        the shape has another.
        """
        zero = C.tensor(0.0, dtype=dtype, device=self.concentration.device)
        exponential = C.isclose(self.concentration, zero)
        divisor = C.where(exponential, C.ones_like(self.concentration), self.concentration)
        return exponential, divisor

    @validated
    def log_prob(self, value):
        z = self._z(value)
        exponential, shape = self._shape()
        power = 1 / shape + C.ones_like(z)
        excess = C.where(power == 0, power, power * C.log1p(shape * z))
        return -self.scale.log() - C.where(exponential, z, excess)

    def log_survival_function(self, value):
        """The logarithm of 1 - `cdf`, at `value`."""
        if self._validate_args:
            self._validate_sample(value)
        z = self._z(value)
        exponential, shape = self._shape()
        return C.where(exponential, -z, -C.log1p(shape * z) / shape)

    def log_cdf(self, value):
        """The logarithm of `cdf`, at `value`."""
        return C.log1p(-C.exp(self.log_survival_function(value)))

    def cdf(self, value):
        return C.exp(self.log_cdf(value))

    def icdf(self, value):
        exponential, shape = self._shape(self.concentration.dtype)
        log_survival = C.log1p(-value)
        return C.where(
            exponential,
            self.loc - self.scale * log_survival,
            self.loc + self.scale / shape * C.expm1(-shape * log_survival),
        )

    def _z(self, x):
        return (x - self.loc) / self.scale

    def _shape_below(self, bound: float, instead: float) -> tuple[Any, Any]:
        """Whether the shape is below the bound, and the shape with another in other places."""
        below = self.concentration < bound
        return below, C.where(below, self.concentration, instead)

    @property
    def mean(self):
        exists, shape = self._shape_below(1, 0.5)
        return C.where(exists, self.loc + self.scale / (1 - shape), math.nan)

    @property
    def variance(self):
        exists, shape = self._shape_below(0.5, 0.25)
        variance = self.scale**2 / ((1 - shape) ** 2 * (1 - 2 * shape))
        return C.where(exists, variance, math.nan)

    def entropy(self):
        entropy = C.log(self.scale) + self.concentration + 1
        return C.broadcast_to(entropy, self._batch_shape)

    mode = reads("loc")

    @constraints.dependent_property(is_discrete=False, event_dim=0)
    def support(self):
        bound = self.loc - self.scale / self.concentration
        upper = C.where(self.concentration < 0, bound, math.inf)
        return constraints.interval(self.loc, upper)
