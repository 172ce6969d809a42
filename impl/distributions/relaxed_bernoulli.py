"""The relaxed Bernoulli distribution and that of its log-odds."""

from __future__ import annotations

from typing import Any

from impl.core.registry import C
from impl.core.sizes import Size
from impl.distributions import _success, constraints
from impl.distributions._parameters import reads, rebuilt, validated
from impl.distributions.distribution import Distribution
from impl.distributions.transformed_distribution import TransformedDistribution
from impl.distributions.transforms import SigmoidTransform
from impl.distributions.utils import broadcast_all, clamp_probs
from impl.tensor.tensor import Tensor

__all__ = ["LogitRelaxedBernoulli", "RelaxedBernoulli"]


class LogitRelaxedBernoulli(Distribution):
    """The distribution of the log-odds of a relaxed Bernoulli variable.

    `temperature` is a floating tensor; `probs` or `logits`, a number or a floating tensor, is of
    the batch shape. Raises ValueError where none or both are given, or for a probability outside
    [0, 1] (torch.distributions.relaxed_bernoulli.LogitRelaxedBernoulli).

    C. J. Maddison, A. Mnih and Y. W. Teh, "The concrete distribution", 2017.
    """

    arg_constraints = {"probs": constraints.unit_interval, "logits": constraints.real}
    support = constraints.real
    probs: Any = _success.probs
    logits: Any = _success.logits
    param_shape = property(_success.param_shape)
    _new = _success.new_tensor

    def __init__(
        self,
        temperature: Tensor,
        probs: Tensor | float | None = None,
        logits: Tensor | float | None = None,
        validate_args: bool | None = None,
    ) -> None:
        self.temperature = temperature
        shape = _success.set_success(self, probs, logits)
        self._param = _success.given(self)
        super().__init__(shape, validate_args=validate_args)

    def expand(self, batch_shape, _instance=None):
        new = _success.expanded_success(self, LogitRelaxedBernoulli, batch_shape, _instance)
        new.temperature = self.temperature
        return new

    def rsample(self, sample_shape=Size()) -> Tensor:
        """Logistic samples shifted by the log-odds, divided by the temperature."""
        shape = self._extended_shape(sample_shape)
        probs: Any = clamp_probs(self.probs.expand(shape))
        uniform: Any = clamp_probs(C.rand(shape, dtype=probs.dtype, device=probs.device))
        logistic = uniform.log() - (-uniform).log1p()
        return (logistic + probs.log() - (-probs).log1p()) / self.temperature

    @validated
    def log_prob(self, value):
        logits, value = broadcast_all(self.logits, value)
        shifted = logits - value.mul(self.temperature)
        return self.temperature.log() + shifted - 2 * shifted.exp().log1p()


class RelaxedBernoulli(TransformedDistribution):
    """The relaxed Bernoulli distribution: of numbers in [0, 1] that are near 0 and 1 for a low
    `temperature`.

    Parameters, and errors raised, are those of `LogitRelaxedBernoulli`, of whose values this is
    the sigmoid (torch.distributions.RelaxedBernoulli).
    """

    arg_constraints = {"probs": constraints.unit_interval, "logits": constraints.real}
    support = constraints.unit_interval
    has_rsample = True
    base_dist: LogitRelaxedBernoulli

    def __init__(
        self,
        temperature: Tensor,
        probs: Tensor | float | None = None,
        logits: Tensor | float | None = None,
        validate_args: bool | None = None,
    ) -> None:
        base = LogitRelaxedBernoulli(temperature, probs, logits)
        super().__init__(base, SigmoidTransform(), validate_args=validate_args)

    def expand(self, batch_shape, _instance=None):
        return rebuilt(self, RelaxedBernoulli, batch_shape, _instance)

    temperature = reads("base_dist.temperature", "The temperature of the relaxation.")
    logits = reads("base_dist.logits", "The log-odds of success.")
    probs = reads("base_dist.probs", "The probability of success.")
