"""`TransformedDistribution`, the distribution of a transformed random variable."""

from __future__ import annotations

import math
from typing import Any

from impl.core.grad_mode import no_grad
from impl.core.sizes import Size
from impl.distributions import constraints
from impl.distributions._parameters import finished, validated
from impl.distributions.constraints.constraint import require
from impl.distributions.distribution import Distribution
from impl.distributions.independent import Independent
from impl.distributions.transforms import ComposeTransform, Transform
from impl.distributions.utils import _sum_rightmost
from impl.tensor.tensor import Tensor

__all__ = ["TransformedDistribution"]


def _transforms_of(transforms: Any) -> list[Transform]:
    """A transform, or the list of them, as a list. Raises ValueError for anything else."""
    if isinstance(transforms, Transform):
        return [transforms]
    if not isinstance(transforms, list):
        raise ValueError(f"transforms must be a Transform or list, but was {transforms}")
    if not all(isinstance(t, Transform) for t in transforms):
        raise ValueError("transforms must be a Transform or a list of Transforms")
    return transforms


class TransformedDistribution(Distribution):
    """The distribution of y = f(x) for x of a base distribution
    (torch.distributions.TransformedDistribution).

    f is the composition of `transforms`, applied from the first on. The density follows from the
    change of variables: log p(y) = log p(x) - log |det dy/dx|. Where f maps arrays, dimensions of
    the base distribution's batch become dimensions of events. Raises ValueError for arguments of
    other classes and for a base distribution of too few dimensions.
    """

    arg_constraints: dict[str, constraints.Constraint] = {}  # type: ignore[assignment]

    def __init__(
        self,
        base_distribution: Distribution,
        transforms: Transform | list[Transform],
        validate_args: bool | None = None,
    ) -> None:
        self.transforms = _transforms_of(transforms)
        transform = ComposeTransform(self.transforms)
        shape = base_distribution.batch_shape + base_distribution.event_shape
        base_event_dim = len(base_distribution.event_shape)
        event_dim = transform.domain.event_dim
        if len(shape) < event_dim:
            raise ValueError(
                "base_distribution needs to have shape with size at least "
                f"{event_dim}, but got {shape}."
            )
        forward_shape = transform.forward_shape(shape)
        expanded_shape = transform.inverse_shape(forward_shape)
        if shape != expanded_shape:
            cut = len(expanded_shape) - base_event_dim
            base_distribution = base_distribution.expand(expanded_shape[:cut])
        if event_dim > base_event_dim:
            base_distribution = Independent(base_distribution, event_dim - base_event_dim)
        self.base_dist = base_distribution

        codomain_dim = transform.codomain.event_dim
        new_event_dim = max(codomain_dim, base_event_dim + codomain_dim - event_dim)
        require(
            len(forward_shape) >= new_event_dim,
            f"forward_shape length {len(forward_shape)} must be >= event_dim {new_event_dim}",
        )
        cut = len(forward_shape) - new_event_dim
        super().__init__(forward_shape[:cut], forward_shape[cut:], validate_args=validate_args)

    def expand(self, batch_shape: Any, _instance: Any = None):
        new = self._get_checked_instance(TransformedDistribution, _instance)
        batch_shape = Size(batch_shape)
        shape: Any = batch_shape + self.event_shape
        for transform in reversed(self.transforms):
            shape = transform.inverse_shape(shape)
        cut = len(shape) - len(self.base_dist.event_shape)
        new.base_dist = self.base_dist.expand(shape[:cut])
        new.transforms = self.transforms
        return finished(new, self, TransformedDistribution, batch_shape, self.event_shape)

    @constraints.dependent_property(is_discrete=False)
    def support(self):  # type: ignore[override]
        if self.transforms:
            last = self.transforms[-1].codomain
            extra = len(self.event_shape) - last.event_dim
            return last if extra <= 0 else constraints.independent(last, extra)
        return self.base_dist.support

    @property
    def has_rsample(self) -> bool:  # type: ignore[override]
        return self.base_dist.has_rsample

    def _transformed(self, x: Any) -> Any:
        """The transforms' value at `x`."""
        for transform in self.transforms:
            x = transform(x)
        return x

    def sample(self, sample_shape: Any = Size()) -> Tensor:
        with no_grad():
            return self._transformed(self.base_dist.sample(sample_shape))

    def rsample(self, sample_shape: Any = Size()) -> Tensor:
        return self._transformed(self.base_dist.rsample(sample_shape))

    @validated
    def log_prob(self, value: Tensor) -> Tensor:
        volume: Any = 0.0
        x, event_dim = value, len(self.event_shape)
        for transform in reversed(self.transforms):
            x, y = transform.inv(x), x
            further = event_dim - transform.codomain.event_dim
            term: Any = transform.log_abs_det_jacobian(x, y)
            volume = volume - _sum_rightmost(term, further)
            event_dim = further + transform.domain.event_dim
        density = self.base_dist.log_prob(x)
        return volume + _sum_rightmost(density, event_dim - len(self.base_dist.event_shape))

    def _monotonize_cdf(self, value: Any) -> Any:
        """Probabilities p as they are for an increasing transform, 1 - p for a decreasing one."""
        sign = math.prod(transform.sign for transform in self.transforms)
        increasing = isinstance(sign, int) and sign == 1
        return value if increasing else sign * (value - 0.5) + 0.5

    def cdf(self, value: Tensor) -> Tensor:
        for transform in reversed(self.transforms):
            value = transform.inv(value)
        if self._validate_args:
            self.base_dist._validate_sample(value)
        return self._monotonize_cdf(self.base_dist.cdf(value))

    def icdf(self, value: Tensor) -> Tensor:
        return self._transformed(self.base_dist.icdf(self._monotonize_cdf(value)))
