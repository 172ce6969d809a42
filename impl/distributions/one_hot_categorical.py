"""The categorical distribution of unit vectors, and its straight-through estimator."""

from __future__ import annotations

from impl.core.registry import C
from impl.core.sizes import Size
from impl.distributions import constraints
from impl.distributions._over_categories import OverCategories
from impl.distributions._parameters import reads, validated
from impl.distributions.categorical import Categorical
from impl.nn import functional as F
from impl.tensor.tensor import Tensor

__all__ = ["OneHotCategorical", "OneHotCategoricalStraightThrough"]


class OneHotCategorical(OverCategories):
    """The categorical distribution, with classes as vectors that are 1 at the class, else 0.

    Parameters, and errors raised, are those of `Categorical`; values are of the dtype of
    `probs` and of shape `batch_shape + (n,)` (torch.distributions.OneHotCategorical).
    """

    support = constraints.one_hot
    has_enumerate_support = True

    def __init__(
        self,
        probs: Tensor | None = None,
        logits: Tensor | None = None,
        validate_args: bool | None = None,
    ) -> None:
        self._over(Categorical(probs, logits), validate_args)

    def expand(self, batch_shape, _instance=None):
        return self._expanded(OneHotCategorical, batch_shape, _instance)

    _param = reads("_categorical._param")
    mean = reads("probs")

    @property
    def mode(self) -> Tensor:
        return self._one_hot(self.probs.argmax(dim=-1))

    @property
    def variance(self) -> Tensor:
        return self.probs * (1 - self.probs)

    def _one_hot(self, classes: Tensor) -> Tensor:
        return F.one_hot(classes, self._categorical._num_events).to(self.probs)

    def sample(self, sample_shape=Size()) -> Tensor:
        return self._one_hot(self._categorical.sample(Size(sample_shape)))

    @validated
    def log_prob(self, value):
        return self._categorical.log_prob(value.max(-1)[1])

    def entropy(self):
        return self._categorical.entropy()

    def enumerate_support(self, expand=True) -> Tensor:
        (n,) = self.event_shape
        values = C.eye(n, dtype=self._param.dtype, device=self._param.device)
        values = values.view((n, *(1 for _ in self.batch_shape), n))
        return values.expand((n, *self.batch_shape, n)) if expand else values


class OneHotCategoricalStraightThrough(OneHotCategorical):
    """`OneHotCategorical` whose samples take the gradient of `probs`
    (torch.distributions.OneHotCategoricalStraightThrough).

    Y. Bengio, N. Léonard and A. Courville, "Estimating or propagating gradients through stochastic
    neurons for conditional computation", 2013.
    """

    has_rsample = True

    def rsample(self, sample_shape=Size()) -> Tensor:
        """Samples whose gradient with respect to `probs` is the identity's."""
        drawn = self.sample(sample_shape)
        return drawn + (self.probs - self.probs.detach())
