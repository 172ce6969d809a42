"""The normal (Gaussian) distribution."""

from __future__ import annotations

import math
from typing import Any

from impl.core.grad_mode import no_grad
from impl.core.registry import C
from impl.core.sizes import Size
from impl.distributions import constraints
from impl.distributions._parameters import expanded, reads, set_parameters, validated
from impl.distributions.exp_family import ExponentialFamily
from impl.distributions.utils import _standard_normal
from impl.tensor.tensor import Tensor

__all__ = ["Normal"]


class Normal(ExponentialFamily):
    """The normal distribution with mean `loc` and standard deviation `scale`.

    Both are numbers or floating tensors, broadcast to the batch shape. Raises ValueError where
    `scale` is not positive (torch.distributions.Normal).
    """

    arg_constraints = {"loc": constraints.real, "scale": constraints.positive}
    support = constraints.real
    has_rsample = True
    _mean_carrier_measure = 0
    loc: Any
    scale: Any

    mean = reads("loc")
    mode = reads("loc")
    stddev = reads("scale")

    @property
    def variance(self) -> Tensor:
        return self.stddev.pow(2)

    def __init__(self, loc, scale, validate_args: bool | None = None) -> None:
        super().__init__(set_parameters(self, loc=loc, scale=scale), validate_args=validate_args)

    def expand(self, batch_shape, _instance=None):
        return expanded(self, Normal, batch_shape, _instance, ("loc", "scale"))

    def sample(self, sample_shape=Size()):
        shape = self._extended_shape(sample_shape)
        with no_grad():
            return C.normal(self.loc.expand(shape), self.scale.expand(shape))

    def rsample(self, sample_shape=Size()) -> Tensor:
        shape = self._extended_shape(sample_shape)
        noise = _standard_normal(shape, dtype=self.loc.dtype, device=self.loc.device)
        return self.loc + noise * self.scale

    @validated
    def log_prob(self, value):
        variance = self.scale**2
        log_scale = self.scale.log()
        exponent = -((value - self.loc) ** 2) / (2 * variance)
        return exponent - log_scale - math.log(math.sqrt(2 * math.pi))

    @validated
    def cdf(self, value):
        return 0.5 * (1 + C.erf((value - self.loc) * self.scale.reciprocal() / math.sqrt(2)))

    def icdf(self, value):
        return self.loc + self.scale * C.erfinv(2 * value - 1) * math.sqrt(2)

    def entropy(self):
        return 0.5 + 0.5 * math.log(2 * math.pi) + C.log(self.scale)

    @property
    def _natural_params(self) -> tuple[Tensor, Tensor]:
        return self.loc / self.scale.pow(2), -0.5 * self.scale.pow(2).reciprocal()

    def _log_normalizer(self, x, y):  # type: ignore[override]
        return -0.25 * x.pow(2) / y + 0.5 * C.log(-math.pi / y)
