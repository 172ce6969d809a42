"""The Bernoulli distribution."""

from __future__ import annotations

import math
from typing import Any

from impl.core.grad_mode import no_grad
from impl.core.registry import C
from impl.core.sizes import Size
from impl.distributions import _success, constraints
from impl.distributions._parameters import reads, validated
from impl.distributions.exp_family import ExponentialFamily
from impl.distributions.utils import broadcast_all
from impl.nn.functional import binary_cross_entropy_with_logits
from impl.tensor.tensor import Tensor

__all__ = ["Bernoulli"]


class Bernoulli(ExponentialFamily):
    """The distribution of one trial: 1 with the probability of success, else 0.

    One of `probs` and `logits`, the log-odds, is given: a number or a floating tensor of the batch
    shape. The mode of equal odds is nan. Raises ValueError for none, for both and for
    probabilities outside [0, 1] (torch.distributions.Bernoulli).
    """

    arg_constraints = {"probs": constraints.unit_interval, "logits": constraints.real}
    support = constraints.boolean
    has_enumerate_support = True
    _mean_carrier_measure = 0
    probs: Any = _success.probs
    logits: Any = _success.logits
    param_shape = property(_success.param_shape)
    _new = _success.new_tensor

    def __init__(self, probs=None, logits=None, validate_args: bool | None = None) -> None:
        shape = _success.set_success(self, probs, logits)
        self._param = _success.given(self)
        super().__init__(shape, validate_args=validate_args)

    def expand(self, batch_shape, _instance=None):
        return _success.expanded_success(self, Bernoulli, batch_shape, _instance)

    mean = reads("probs")

    @property
    def mode(self) -> Tensor:
        mode = (self.probs >= 0.5).to(self.probs)
        mode[self.probs == 0.5] = math.nan
        return mode

    @property
    def variance(self) -> Tensor:
        return self.probs * (1 - self.probs)

    def sample(self, sample_shape=Size()):
        shape = self._extended_shape(sample_shape)
        with no_grad():
            return C.bernoulli(self.probs.expand(shape))

    @validated
    def log_prob(self, value):
        logits, value = broadcast_all(self.logits, value)
        return -binary_cross_entropy_with_logits(logits, value, reduction="none")

    def entropy(self):
        return binary_cross_entropy_with_logits(self.logits, self.probs, reduction="none")

    def enumerate_support(self, expand=True):
        return _success.whole_numbers(self, 2, expand)

    @property
    def _natural_params(self) -> tuple[Tensor]:
        return (C.logit(self.probs),)

    def _log_normalizer(self, x):  # type: ignore[override]
        return C.log1p(C.exp(x))
