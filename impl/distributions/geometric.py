"""The geometric distribution."""

from __future__ import annotations

from typing import Any

from impl.core.grad_mode import no_grad
from impl.core.memory_formats import contiguous_format
from impl.core.registry import C
from impl.core.sizes import Size
from impl.distributions import _success, constraints
from impl.distributions._parameters import validated
from impl.distributions.distribution import Distribution
from impl.distributions.utils import broadcast_all
from impl.factories.type_info import finfo
from impl.nn.functional import binary_cross_entropy_with_logits
from impl.tensor.tensor import Tensor

__all__ = ["Geometric"]


class Geometric(Distribution):
    """The distribution of the number of failures before the first success, 0, 1, …

    One of `probs`, the probability of success, and `logits`, its log-odds, is given: a number or a
    floating tensor of the batch shape. Raises ValueError for none, for both and for probabilities
    outside (0, 1] (torch.distributions.Geometric).
    """

    arg_constraints = {"probs": constraints.unit_interval, "logits": constraints.real}
    support = constraints.nonnegative_integer
    probs: Any = _success.probs
    logits: Any = _success.logits

    def __init__(self, probs=None, logits=None, validate_args: bool | None = None) -> None:
        shape = _success.set_success(self, probs, logits)
        super().__init__(shape, validate_args=validate_args)
        if self._validate_args and probs is not None:
            self._refuse_zero()

    def _refuse_zero(self) -> None:
        """Raise ValueError where no trial succeeds, which `arg_constraints` lets pass."""
        value = self.probs
        valid = value > 0
        if not valid.all():
            invalid = value.data[~valid]
            raise ValueError(
                "Expected parameter probs "
                f"({type(value).__name__} of shape {tuple(value.shape)}) "
                f"of distribution {self!r} "
                f"to be positive but found invalid values:\n{invalid}"
            )

    def expand(self, batch_shape, _instance=None):
        return _success.expanded(self, Geometric, batch_shape, _instance, ("probs", "logits"))

    @property
    def mean(self) -> Tensor:
        return 1.0 / self.probs - 1.0

    @property
    def mode(self) -> Tensor:
        return C.zeros_like(self.probs)

    @property
    def variance(self) -> Tensor:
        return (1.0 / self.probs - 1.0) / self.probs

    def sample(self, sample_shape=Size()):
        shape = self._extended_shape(sample_shape)
        with no_grad():
            uniform = self.probs.new(shape).uniform_(finfo(self.probs.dtype).tiny, 1)
            return (uniform.log() / (-self.probs).log1p()).floor()

    @validated
    def log_prob(self, value):
        value, probs = broadcast_all(value, self.probs)
        # 0 failures of a certain success: a factor 0, not 0 times an infinite logarithm.
        surely = (probs == 1) & (value == 0)
        finite = probs.clone(memory_format=contiguous_format)
        finite[surely] = 0
        return value * (-finite).log1p() + self.probs.log()

    def entropy(self):
        entropy = binary_cross_entropy_with_logits(self.logits, self.probs, reduction="none")
        return entropy / self.probs
