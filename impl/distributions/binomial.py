"""The binomial distribution."""

from __future__ import annotations

from typing import Any

from impl.core.grad_mode import no_grad
from impl.core.registry import C
from impl.core.sizes import Size
from impl.distributions import _success, constraints
from impl.distributions._parameters import validated
from impl.distributions.distribution import Distribution
from impl.tensor.tensor import Tensor

__all__ = ["Binomial"]


def _clamp_by_zero(x):
    """max(x, 0), whose gradient at 0 is 1/2."""
    return (x.clamp(min=0) + x - x.clamp(max=0)) / 2


class Binomial(Distribution):
    """The distribution of the number of successes in `total_count` trials.

    One of `probs` and `logits`, the log-odds, is given: a floating tensor, or a number, that
    broadcasts with `total_count` to the batch shape. Raises ValueError for none, for both, for
    counts that are negative or not whole and for probabilities outside [0, 1]
    (torch.distributions.Binomial).
    """

    arg_constraints = {
        "total_count": constraints.nonnegative_integer,
        "probs": constraints.unit_interval,
        "logits": constraints.real,
    }
    has_enumerate_support = True
    probs: Any = _success.probs
    logits: Any = _success.logits
    param_shape = property(_success.param_shape)
    _new = _success.new_tensor
    total_count: Any

    def __init__(
        self, total_count=1, probs=None, logits=None, validate_args: bool | None = None
    ) -> None:
        shape = _success.set_trials(self, total_count, probs, logits)
        super().__init__(shape, validate_args=validate_args)

    def expand(self, batch_shape, _instance=None):
        return _success.expanded_success(self, Binomial, batch_shape, _instance)

    @constraints.dependent_property(is_discrete=True, event_dim=0)
    def support(self):
        return constraints.integer_interval(0, self.total_count)

    @property
    def mean(self) -> Tensor:
        return self.total_count * self.probs

    @property
    def variance(self) -> Tensor:
        return self.mean * (1 - self.probs)

    @property
    def mode(self) -> Tensor:
        most_probable = (self.total_count + 1) * self.probs
        return most_probable.floor().clamp(max=self.total_count)

    def sample(self, sample_shape=Size()):
        shape = self._extended_shape(sample_shape)
        with no_grad():
            return C.binomial(self.total_count.expand(shape), self.probs.expand(shape))

    @validated
    def log_prob(self, value):
        log_factorial_n = C.lgamma(self.total_count + 1)
        log_factorial_k = C.lgamma(value + 1)
        log_factorial_rest = C.lgamma(self.total_count - value + 1)
        # n log(1 + exp(logits)), without overflow
        norm = (
            self.total_count * _clamp_by_zero(self.logits)
            + self.total_count * C.log1p(C.exp(-C.abs(self.logits)))
            - log_factorial_n
        )
        return value * self.logits - log_factorial_k - log_factorial_rest - norm

    def _common_count(self, name: str) -> int:
        """The number of trials of the whole batch; NotImplementedError where it has several."""
        count = int(self.total_count.max())
        if not self.total_count.min() == count:
            raise NotImplementedError(f"Inhomogeneous total count not supported by `{name}`.")
        return count

    def entropy(self):
        self._common_count("entropy")
        log_prob = self.log_prob(self.enumerate_support(False))
        return -(C.exp(log_prob) * log_prob).sum(0)

    def enumerate_support(self, expand=True):
        end = 1 + self._common_count("enumerate_support")
        return _success.whole_numbers(self, end, expand)
