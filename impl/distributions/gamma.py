"""The gamma distribution."""

from __future__ import annotations

from typing import Any

from impl.core.grad_mode import no_grad
from impl.core.registry import C
from impl.core.sizes import Size
from impl.distributions import constraints
from impl.distributions._parameters import expanded, set_parameters, validated
from impl.distributions.exp_family import ExponentialFamily
from impl.factories.type_info import finfo
from impl.tensor.tensor import Tensor

__all__ = ["Gamma"]


def _standard_gamma(concentration, generator=None):
    return C._standard_gamma(concentration, generator)


class Gamma(ExponentialFamily):
    """The gamma distribution of shape `concentration` and inverse scale `rate`.

    Both are numbers or floating tensors, broadcast to the batch shape. Raises ValueError where one
    is not positive (torch.distributions.Gamma).
    """

    arg_constraints = {"concentration": constraints.positive, "rate": constraints.positive}
    support = constraints.nonnegative
    has_rsample = True
    _mean_carrier_measure = 0
    concentration: Any
    rate: Any

    @property
    def mean(self) -> Tensor:
        return self.concentration / self.rate

    @property
    def variance(self) -> Tensor:
        return self.concentration / self.rate.pow(2)

    @property
    def mode(self) -> Tensor:
        inner = (self.concentration - 1) / self.rate
        return inner.clamp(min=0)

    def __init__(self, concentration, rate, validate_args: bool | None = None) -> None:
        shape = set_parameters(self, concentration=concentration, rate=rate)
        super().__init__(shape, validate_args=validate_args)

    def expand(self, batch_shape, _instance=None):
        return expanded(self, Gamma, batch_shape, _instance, ("concentration", "rate"))

    def sample(self, sample_shape=Size(), *, generator=None) -> Tensor:
        with no_grad():
            return self.rsample(sample_shape, generator=generator)

    def rsample(self, sample_shape=Size(), generator=None) -> Tensor:
        """Samples that are differentiable in both parameters, none below the least normal number.

        `generator` is where the numbers come from, by default the global one.
        """
        shape = self._extended_shape(sample_shape)
        standard = _standard_gamma(self.concentration.expand(shape), generator=generator)
        value = standard / self.rate.expand(shape)
        value.detach().clamp_(min=finfo(value.dtype).tiny)
        return value

    def log_prob(self, value):
        value = C.as_tensor(value, dtype=self.rate.dtype, device=self.rate.device)
        if self._validate_args:
            self._validate_sample(value)
        powers = C.xlogy(self.concentration, self.rate) + C.xlogy(self.concentration - 1, value)
        return powers - self.rate * value - C.lgamma(self.concentration)

    def entropy(self):
        shape = self.concentration
        return shape - C.log(self.rate) + C.lgamma(shape) + (1.0 - shape) * C.digamma(shape)

    @property
    def _natural_params(self) -> tuple[Tensor, Tensor]:
        return self.concentration - 1, -self.rate

    def _log_normalizer(self, x, y):  # type: ignore[override]
        return C.lgamma(x + 1) + (x + 1) * C.log(-y.reciprocal())

    @validated
    def cdf(self, value):
        return C.special_gammainc(self.concentration, self.rate * value)
