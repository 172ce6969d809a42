"""The negative binomial distribution."""

from __future__ import annotations

from typing import Any

from impl.core.grad_mode import no_grad
from impl.core.registry import C
from impl.core.sizes import Size
from impl.distributions import _success, constraints
from impl.distributions._parameters import validated
from impl.distributions.distribution import Distribution
from impl.distributions.gamma import Gamma
from impl.nn import functional as F
from impl.tensor.tensor import Tensor

__all__ = ["NegativeBinomial"]


class NegativeBinomial(Distribution):
    """The distribution of the number of successes before the `total_count`-th failure.

    `total_count` is a positive number, whole or not. One of `probs`, the probability of success,
    and `logits`, its log-odds, is given: a floating tensor, or a number, that broadcasts with
    `total_count` to the batch shape. Raises ValueError for none, for both, for negative counts and
    for probabilities outside [0, 1) (torch.distributions.NegativeBinomial).
    """

    arg_constraints = {
        "total_count": constraints.greater_than_eq(0),
        "probs": constraints.half_open_interval(0.0, 1.0),
        "logits": constraints.real,
    }
    support = constraints.nonnegative_integer
    probs: Any = _success.probs
    logits: Any = _success.logits
    param_shape = property(_success.param_shape)
    _new = _success.new_tensor
    total_count: Any

    def __init__(
        self, total_count, probs=None, logits=None, validate_args: bool | None = None
    ) -> None:
        shape = _success.set_trials(self, total_count, probs, logits)
        super().__init__(shape, validate_args=validate_args)

    def expand(self, batch_shape, _instance=None):
        return _success.expanded_success(self, NegativeBinomial, batch_shape, _instance)

    @property
    def mean(self) -> Tensor:
        return self.total_count * C.exp(self.logits)

    @property
    def mode(self) -> Tensor:
        return ((self.total_count - 1) * self.logits.exp()).floor().clamp(min=0.0)

    @property
    def variance(self) -> Tensor:
        return self.mean / C.sigmoid(-self.logits)

    @_success.lazy_property
    def _gamma(self) -> Gamma:
        """The distribution of the rate, of which the distribution is a Poisson mixture."""
        rate = C.exp(-self.logits)
        return Gamma(concentration=self.total_count, rate=rate, validate_args=False)

    def sample(self, sample_shape=Size()):
        with no_grad():
            return C.poisson(self._gamma.sample(sample_shape=sample_shape))

    @validated
    def log_prob(self, value):
        failures = self.total_count * F.logsigmoid(-self.logits)
        log_unnormalized = failures + value * F.logsigmoid(self.logits)
        total = self.total_count + value
        log_norm = -C.lgamma(total) + C.lgamma(1.0 + value) + C.lgamma(self.total_count)
        return log_unnormalized - log_norm.masked_fill(total == 0.0, 0.0)
