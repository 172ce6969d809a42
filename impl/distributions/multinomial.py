"""The multinomial distribution."""

from __future__ import annotations

import math

from impl.core.memory_formats import contiguous_format
from impl.core.registry import C
from impl.core.sizes import Size
from impl.distributions import constraints
from impl.distributions._over_categories import OverCategories
from impl.distributions._parameters import validated
from impl.distributions.binomial import Binomial
from impl.distributions.categorical import Categorical
from impl.distributions.utils import broadcast_all
from impl.tensor.tensor import Tensor

__all__ = ["Multinomial"]


class Multinomial(OverCategories):
    """The multinomial distribution: how often each class occurs in `total_count` draws.

    `total_count` is an int; `probs` or `logits`, and errors raised for them, are those of
    `Categorical`. Counts are of the dtype of `probs` and of shape `batch_shape + (n,)`. Raises
    NotImplementedError for another `total_count` (torch.distributions.Multinomial).
    """

    total_count: int

    def __init__(
        self,
        total_count: int = 1,
        probs: Tensor | None = None,
        logits: Tensor | None = None,
        validate_args: bool | None = None,
    ) -> None:
        if not isinstance(total_count, int):
            raise NotImplementedError("inhomogeneous total_count is not supported")
        self.total_count = total_count
        categorical = Categorical(probs=probs, logits=logits)
        self._binomial = Binomial(total_count=total_count, probs=categorical.probs)
        self._over(categorical, validate_args)

    @property
    def mean(self) -> Tensor:
        return self.probs * self.total_count

    @property
    def variance(self) -> Tensor:
        return self.mean * (1 - self.probs)

    def expand(self, batch_shape, _instance=None):
        new = self._expanded(Multinomial, batch_shape, _instance)
        new.total_count = self.total_count
        new._binomial = self._binomial.expand(new.batch_shape + self.event_shape)
        return new

    @constraints.dependent_property(is_discrete=True, event_dim=1)
    def support(self):
        return constraints.multinomial(self.total_count)

    def sample(self, sample_shape=Size()) -> Tensor:
        sample_shape = Size(sample_shape)
        draws = self._categorical.sample(Size((self.total_count,)) + sample_shape).movedim(0, -1)
        counts = draws.new(self._extended_shape(sample_shape)).zero_()
        counts.scatter_add_(-1, draws, C.ones_like(draws))
        return counts.type_as(self.probs)

    def entropy(self):
        """The entropy in nats, of shape `batch_shape`.

        The expected logarithms of the factorials are sums over each class's count, which has a
        binomial distribution.
        """
        n = C.tensor(self.total_count, dtype=self.probs.dtype, device=self.probs.device)
        of_sequences = n * self._categorical.entropy() - C.lgamma(n + 1)
        counts = self._binomial.enumerate_support(expand=False)[1:]
        probs = C.exp(self._binomial.log_prob(counts))
        return of_sequences + (probs * C.lgamma(counts + 1)).sum([0, -1])

    @validated
    def log_prob(self, value):
        logits, value = broadcast_all(self.logits, value)
        logits = logits.clone(memory_format=contiguous_format)
        orders = C.lgamma(value.sum(-1) + 1) - C.lgamma(value + 1).sum(-1)
        logits[(value == 0) & (logits == -math.inf)] = 0
        return orders + (logits * value).sum(-1)
