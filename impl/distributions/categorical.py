"""The categorical distribution."""

from __future__ import annotations

import math

from impl.core.dtypes import int64
from impl.core.registry import C
from impl.core.sizes import Size
from impl.distributions import _success, constraints
from impl.distributions._parameters import finished, validated
from impl.distributions.distribution import Distribution
from impl.distributions.utils import lazy_property, logits_to_probs, probs_to_logits
from impl.factories.type_info import finfo
from impl.functional import broadcast_tensors
from impl.tensor.tensor import Tensor

__all__ = ["Categorical"]


class Categorical(Distribution):
    """The categorical distribution of class indices, int64 from 0 to n - 1.

    `probs`, weights that are normalized to sum to 1, or `logits`, log probabilities up to a
    constant, is a floating tensor of shape `batch_shape + (n,)`. Raises ValueError where none or
    both are given, or one without dimensions, or weights that are negative
    (torch.distributions.Categorical).
    """

    arg_constraints = {"probs": constraints.simplex, "logits": constraints.real_vector}
    has_enumerate_support = True
    _new = _success.new_tensor
    param_shape = property(_success.param_shape)

    def __init__(
        self,
        probs: Tensor | None = None,
        logits: Tensor | None = None,
        validate_args: bool | None = None,
    ) -> None:
        if (probs is None) == (logits is None):
            raise ValueError("Either `probs` or `logits` must be specified, but not both.")
        if probs is not None:
            _require_dimension("probs", probs)
            self.probs = self._param = probs / probs.sum(-1, keepdim=True)
        elif logits is not None:
            _require_dimension("logits", logits)
            self.logits = self._param = logits - logits.logsumexp(dim=-1, keepdim=True)
        *batch_shape, self._num_events = self._param.size()
        super().__init__(Size(batch_shape), validate_args=validate_args)

    def expand(self, batch_shape, _instance=None):
        new = self._get_checked_instance(Categorical, _instance)
        batch_shape = Size(batch_shape)
        for name in ("probs", "logits"):
            if name in vars(self):
                expanded = getattr(self, name).expand((*batch_shape, self._num_events))
                setattr(new, name, expanded)
                new._param = expanded
        new._num_events = self._num_events
        return finished(new, self, Categorical, batch_shape)

    @constraints.dependent_property(is_discrete=True, event_dim=0)
    def support(self):
        return constraints.integer_interval(0, self._num_events - 1)

    @lazy_property
    def logits(self) -> Tensor:
        """The log probability of each class."""
        return probs_to_logits(self.probs)

    @lazy_property
    def probs(self) -> Tensor:
        """The probability of each class."""
        return logits_to_probs(self.logits)

    @property
    def mean(self) -> Tensor:
        """NaN of the batch shape: classes have no mean."""
        return self._undefined()

    @property
    def mode(self) -> Tensor:
        return self.probs.argmax(dim=-1)

    @property
    def variance(self) -> Tensor:
        """NaN of the batch shape: classes have no variance."""
        return self._undefined()

    def _undefined(self) -> Tensor:
        probs = self.probs
        return C.full(self._extended_shape(), math.nan, dtype=probs.dtype, device=probs.device)

    def sample(self, sample_shape=Size()) -> Tensor:
        """Class indices, int64, of shape `sample_shape + batch_shape`."""
        sample_shape = Size(sample_shape)
        rows = self.probs.reshape(-1, self._num_events)
        drawn = C.multinomial(rows, sample_shape.numel(), True).T
        return drawn.reshape(self._extended_shape(sample_shape))

    @validated
    def log_prob(self, value):
        indices, log_probs = broadcast_tensors(value.long().unsqueeze(-1), self.logits)
        return log_probs.gather(-1, indices[..., :1]).squeeze(-1)

    def entropy(self):
        logits = C.clamp(self.logits, min=finfo(self.logits.dtype).min)
        return -(logits * self.probs).sum(-1)

    def enumerate_support(self, expand=True) -> Tensor:
        values = C.arange(self._num_events, dtype=int64, device=self._param.device)
        values = values.view((-1, *(1 for _ in self._batch_shape)))
        return values.expand((-1, *self._batch_shape)) if expand else values


def _require_dimension(name: str, parameter: Tensor) -> None:
    """Raise ValueError for a parameter without dimensions."""
    if parameter.dim() < 1:
        raise ValueError(f"`{name}` parameter must be at least one-dimensional.")
