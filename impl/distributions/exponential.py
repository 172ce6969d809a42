"""The exponential distribution."""

from __future__ import annotations

from typing import Any

from impl.core.registry import C
from impl.core.sizes import Size
from impl.distributions import constraints
from impl.distributions._parameters import expanded, reads, set_parameters, validated
from impl.distributions.exp_family import ExponentialFamily
from impl.tensor.tensor import Tensor

__all__ = ["Exponential"]


class Exponential(ExponentialFamily):
    """The exponential distribution, whose mean is 1 / `rate`.

    `rate` is a number or a floating tensor of the batch shape. Raises ValueError where it is not
    positive (torch.distributions.Exponential).
    """

    arg_constraints = {"rate": constraints.positive}
    support = constraints.nonnegative
    has_rsample = True
    _mean_carrier_measure = 0
    rate: Any

    @property
    def mean(self) -> Tensor:
        return self.rate.reciprocal()

    @property
    def mode(self) -> Tensor:
        return C.zeros_like(self.rate)

    stddev = reads("mean")

    @property
    def variance(self) -> Tensor:
        return self.rate.pow(-2)

    def __init__(self, rate, validate_args: bool | None = None) -> None:
        super().__init__(set_parameters(self, rate=rate), validate_args=validate_args)

    def expand(self, batch_shape, _instance=None):
        return expanded(self, Exponential, batch_shape, _instance, ("rate",))

    def rsample(self, sample_shape=Size()) -> Tensor:
        return self.rate.new(self._extended_shape(sample_shape)).exponential_() / self.rate

    @validated
    def log_prob(self, value):
        return self.rate.log() - self.rate * value

    @validated
    def cdf(self, value):
        return 1 - C.exp(-self.rate * value)

    def icdf(self, value):
        return -C.log1p(-value) / self.rate

    def entropy(self):
        return 1.0 - C.log(self.rate)

    @property
    def _natural_params(self) -> tuple[Tensor]:
        return (-self.rate,)

    def _log_normalizer(self, x):  # type: ignore[override]
        return -C.log(-x)
