"""The relaxed categorical distribution and that of its logarithms."""

from __future__ import annotations

from impl.core.registry import C
from impl.core.sizes import Size
from impl.distributions import constraints
from impl.distributions._over_categories import OverCategories
from impl.distributions._parameters import reads, rebuilt
from impl.distributions.categorical import Categorical
from impl.distributions.transformed_distribution import TransformedDistribution
from impl.distributions.transforms import ExpTransform
from impl.distributions.utils import broadcast_all, clamp_probs
from impl.tensor.tensor import Tensor

__all__ = ["ExpRelaxedCategorical", "RelaxedOneHotCategorical"]


class ExpRelaxedCategorical(OverCategories):
    """The distribution of the logarithms of a relaxed categorical variable.

    `temperature` is a floating tensor; `probs` or `logits`, and errors raised, are those of
    `Categorical`. Values are of shape `batch_shape + (n,)`, and their exponentials sum to 1
    (torch.distributions.relaxed_categorical.ExpRelaxedCategorical).

    C. J. Maddison, A. Mnih and Y. W. Teh, "The concrete distribution", 2017; E. Jang, S. Gu and
    B. Poole, "Categorical reparameterization with Gumbel-softmax", 2017.
    """

    support = constraints.real_vector
    has_rsample = True

    def __init__(
        self,
        temperature: Tensor,
        probs: Tensor | None = None,
        logits: Tensor | None = None,
        validate_args: bool | None = None,
    ) -> None:
        self.temperature = temperature
        self._over(Categorical(probs, logits), validate_args)

    def expand(self, batch_shape, _instance=None):
        new = self._expanded(ExpRelaxedCategorical, batch_shape, _instance)
        new.temperature = self.temperature
        return new

    def rsample(self, sample_shape=Size()) -> Tensor:
        """Logits with Gumbel noise, divided by the temperature and normalized."""
        logits = self.logits
        shape = self._extended_shape(sample_shape)
        uniform = clamp_probs(C.rand(shape, dtype=logits.dtype, device=logits.device))
        noise = -(-uniform.log()).log()
        return _normalized((logits + noise) / self.temperature)

    def log_prob(self, value):
        n = self._categorical._num_events
        if self._validate_args:
            self._validate_sample(value)
        logits, value = broadcast_all(self.logits, value)
        temperature = self.temperature
        scale = C.full_like(temperature, float(n)).lgamma() - temperature.log().mul(1 - n)
        return _normalized(logits - value.mul(temperature)).sum(-1) + scale


def _normalized(scores: Tensor) -> Tensor:
    """The log probabilities that are `scores` up to a constant."""
    return scores - scores.logsumexp(dim=-1, keepdim=True)


class RelaxedOneHotCategorical(TransformedDistribution):
    """The relaxed categorical distribution: of vectors of the simplex that are near its corners
    for a low `temperature`.

    Parameters, and errors raised, are those of `ExpRelaxedCategorical`, of whose values this is
    the exponential (torch.distributions.RelaxedOneHotCategorical).
    """

    arg_constraints = {"probs": constraints.simplex, "logits": constraints.real_vector}
    support = constraints.simplex
    has_rsample = True
    base_dist: ExpRelaxedCategorical

    def __init__(
        self,
        temperature: Tensor,
        probs: Tensor | None = None,
        logits: Tensor | None = None,
        validate_args: bool | None = None,
    ) -> None:
        base = ExpRelaxedCategorical(temperature, probs, logits, validate_args=validate_args)
        super().__init__(base, ExpTransform(), validate_args=validate_args)

    def expand(self, batch_shape, _instance=None):
        return rebuilt(self, RelaxedOneHotCategorical, batch_shape, _instance)

    temperature = reads("base_dist.temperature", "The temperature of the relaxation.")
    logits = reads("base_dist.logits", "The log probability of each class.")
    probs = reads("base_dist.probs", "The probability of each class.")
