"""The Poisson distribution."""

from __future__ import annotations

from typing import Any

from impl.core.grad_mode import no_grad
from impl.core.registry import C
from impl.core.sizes import Size
from impl.distributions import constraints
from impl.distributions._parameters import expanded, reads, set_parameters, validated
from impl.distributions.exp_family import ExponentialFamily
from impl.distributions.utils import broadcast_all
from impl.tensor.tensor import Tensor

__all__ = ["Poisson"]


class Poisson(ExponentialFamily):
    """The Poisson distribution of the number of events, of mean `rate`.

    `rate` is a number or a floating tensor of the batch shape. Raises ValueError where it is
    negative (torch.distributions.Poisson).
    """

    arg_constraints = {"rate": constraints.nonnegative}
    support = constraints.nonnegative_integer
    rate: Any

    mean = reads("rate")

    @property
    def mode(self) -> Tensor:
        return self.rate.floor()

    variance = reads("rate")

    def __init__(self, rate, validate_args: bool | None = None) -> None:
        super().__init__(set_parameters(self, rate=rate), validate_args=validate_args)

    def expand(self, batch_shape, _instance=None):
        return expanded(self, Poisson, batch_shape, _instance, ("rate",))

    def sample(self, sample_shape=Size()):
        shape = self._extended_shape(sample_shape)
        with no_grad():
            return C.poisson(self.rate.expand(shape))

    @validated
    def log_prob(self, value):
        rate, value = broadcast_all(self.rate, value)
        return value.xlogy(rate) - rate - (value + 1).lgamma()

    @property
    def _natural_params(self) -> tuple[Tensor]:
        return (C.log(self.rate),)

    def _log_normalizer(self, x):  # type: ignore[override]
        return C.exp(x)
