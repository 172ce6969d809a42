"""The beta distribution."""

from __future__ import annotations

from typing import Any

from impl.core.registry import C
from impl.distributions import constraints
from impl.distributions._parameters import finished, validated
from impl.distributions.dirichlet import Dirichlet
from impl.distributions.exp_family import ExponentialFamily
from impl.distributions.utils import _Number, broadcast_all
from impl.tensor.tensor import Tensor

__all__ = ["Beta"]


class Beta(ExponentialFamily):
    """The beta distribution: the first of two Dirichlet components.

    `concentration1` (alpha) and `concentration0` (beta) are numbers or floating tensors, broadcast
    to the batch shape. Raises ValueError where one is not positive (torch.distributions.Beta).
    """

    arg_constraints = {
        "concentration1": constraints.positive,
        "concentration0": constraints.positive,
    }
    support = constraints.unit_interval
    has_rsample = True

    def __init__(self, concentration1, concentration0, validate_args: bool | None = None) -> None:
        if isinstance(concentration1, _Number) and isinstance(concentration0, _Number):
            both = C.tensor([float(concentration1), float(concentration0)])
        else:
            both = C.stack(broadcast_all(concentration1, concentration0), -1)
        self._dirichlet: Any = Dirichlet(both, validate_args=validate_args)
        super().__init__(self._dirichlet._batch_shape, validate_args=validate_args)

    def expand(self, batch_shape, _instance=None):
        new = self._get_checked_instance(Beta, _instance)
        new._dirichlet = self._dirichlet.expand(batch_shape)
        return finished(new, self, Beta, new._dirichlet._batch_shape)

    def _moments(self) -> tuple[Tensor, Tensor]:
        """Mean and variance."""
        a, b = self.concentration1, self.concentration0
        total = a + b
        return a / total, a * b / (total.pow(2) * (total + 1))

    mean = property(lambda self: self._moments()[0])
    variance = property(lambda self: self._moments()[1])
    mode = property(lambda self: self._dirichlet.mode[..., 0])

    def rsample(self, sample_shape=()) -> Tensor:
        return self._dirichlet.rsample(sample_shape).select(-1, 0)

    @validated
    def log_prob(self, value):
        return self._dirichlet.log_prob(C.stack([value, 1.0 - value], -1))

    def entropy(self):
        return self._dirichlet.entropy()

    @property
    def concentration1(self) -> Any:
        return self._dirichlet.concentration[..., 0]

    @property
    def concentration0(self) -> Any:
        return self._dirichlet.concentration[..., 1]

    @property
    def _natural_params(self) -> tuple[Tensor, Tensor]:
        return self.concentration1, self.concentration0

    def _log_normalizer(self, x, y):  # type: ignore[override]
        return C.lgamma(x) + C.lgamma(y) - C.lgamma(x + y)
