"""Transforms of numbers, element by element."""

from __future__ import annotations

import math
import operator
from typing import Any

from impl.core.registry import C
from impl.distributions import constraints
from impl.distributions.transforms.transform import Transform, equal_to_its_kind
from impl.distributions.utils import broadcast_all, lazy_property
from impl.factories.type_info import finfo
from impl.functional import broadcast_shapes
from impl.types import _Number


def _shape_with(shape: Any, *parameters: Any) -> Any:
    """The shape that an argument of that shape broadcasts to with numbers or tensors."""
    return broadcast_shapes(shape, *(getattr(p, "shape", ()) for p in parameters))


@equal_to_its_kind
class ExpTransform(Transform):
    """y = exp(x) (torch.distributions.transforms.ExpTransform)."""

    domain = constraints.real
    codomain = constraints.positive
    bijective = True
    sign = +1

    def _call(self, x: Any) -> Any:
        return x.exp()

    def _inverse(self, y: Any) -> Any:
        return y.log()

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        return x


class PowerTransform(Transform):
    """y = x ** exponent of positive numbers (torch.distributions.transforms.PowerTransform).

    The exponent is a number or a tensor, to which the argument broadcasts.
    """

    domain = constraints.positive
    codomain = constraints.positive
    bijective = True

    def __init__(self, exponent: Any, cache_size: int = 0) -> None:
        super().__init__(cache_size=cache_size)
        self.exponent: Any
        (self.exponent,) = broadcast_all(exponent)

    def _impl_recached(self, cache_size: int) -> Transform:
        return PowerTransform(self.exponent, cache_size=cache_size)

    @lazy_property
    def sign(self) -> Any:  # type: ignore[override]
        return self.exponent.sign()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, PowerTransform) and _equal(self.exponent, other.exponent)

    def _call(self, x: Any) -> Any:
        return x.pow(self.exponent)

    def _inverse(self, y: Any) -> Any:
        return y.pow(1 / self.exponent)

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        return (self.exponent * y / x).abs().log()

    def forward_shape(self, shape: Any) -> Any:
        return _shape_with(shape, self.exponent)

    def inverse_shape(self, shape: Any) -> Any:
        return _shape_with(shape, self.exponent)


def _clamped(probabilities: Any) -> Any:
    """Probabilities between the least normal number of the dtype and the last before 1."""
    limits = finfo(probabilities.dtype)
    return probabilities.clamp(min=limits.tiny, max=1.0 - limits.eps)


def _clipped_sigmoid(x: Any) -> Any:
    """The logistic function, kept away from 0 and 1."""
    return _clamped(C.sigmoid(x))


@equal_to_its_kind
class SigmoidTransform(Transform):
    """y = 1 / (1 + exp(-x)), kept away from 0 and 1
    (torch.distributions.transforms.SigmoidTransform)."""

    domain = constraints.real
    codomain = constraints.unit_interval
    bijective = True
    sign = +1

    def _call(self, x: Any) -> Any:
        return _clipped_sigmoid(x)

    def _inverse(self, y: Any) -> Any:
        y = _clamped(y)
        return y.log() - (-y).log1p()

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        return -C.softplus(-x) - C.softplus(x)


@equal_to_its_kind
class SoftplusTransform(Transform):
    """y = log(1 + exp(x)) (torch.distributions.transforms.SoftplusTransform)."""

    domain = constraints.real
    codomain = constraints.positive
    bijective = True
    sign = +1

    def _call(self, x: Any) -> Any:
        return C.softplus(x)

    def _inverse(self, y: Any) -> Any:
        return (-y).expm1().neg().log() + y

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        return -C.softplus(-x)


@equal_to_its_kind
class TanhTransform(Transform):
    """y = tanh(x) (torch.distributions.transforms.TanhTransform).

    The inverse is infinite at ±1, to which large arguments are rounded; a cache avoids it.
    """

    domain = constraints.real
    codomain = constraints.interval(-1.0, 1.0)
    bijective = True
    sign = +1

    def _call(self, x: Any) -> Any:
        return x.tanh()

    def _inverse(self, y: Any) -> Any:
        return C.atanh(y)

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        """log(1 - tanh(x)²) = 2 (log 2 - x - softplus(-2 x)), exact for large x as well."""
        return 2.0 * (math.log(2.0) - x - C.softplus(-2.0 * x))


@equal_to_its_kind
class AbsTransform(Transform):
    """y = |x|, whose inverse returns the positive argument
    (torch.distributions.transforms.AbsTransform)."""

    domain = constraints.real
    codomain = constraints.positive

    def _call(self, x: Any) -> Any:
        return x.abs()

    def _inverse(self, y: Any) -> Any:
        return y


def _equal(first: Any, second: Any) -> bool:
    """Whether two parameters, numbers or tensors, are equal in all elements."""
    equal = first == second
    if isinstance(first, _Number) and isinstance(second, _Number):
        return equal
    return equal.all().item()


class AffineTransform(Transform):
    """y = loc + scale * x (torch.distributions.transforms.AffineTransform).

    `loc` and `scale` are numbers or tensors, to which the argument broadcasts; `event_dim` counts
    the dimensions of one argument, over which the logarithms of the Jacobian are summed.
    """

    bijective = True

    def __init__(self, loc: Any, scale: Any, event_dim: int = 0, cache_size: int = 0) -> None:
        super().__init__(cache_size=cache_size)
        self.loc, self.scale, self._event_dim = loc, scale, event_dim

    event_dim = property(operator.attrgetter("_event_dim"))

    def _space(self) -> Any:
        """Arrays of real numbers with the dimensions of one argument."""
        if self.event_dim == 0:
            return constraints.real
        return constraints.independent(constraints.real, self.event_dim)

    domain = constraints.dependent_property(_space, is_discrete=False)
    codomain = constraints.dependent_property(_space, is_discrete=False)

    def _impl_recached(self, cache_size: int) -> Transform:
        return AffineTransform(self.loc, self.scale, self.event_dim, cache_size=cache_size)

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, AffineTransform)
            and _equal(self.loc, other.loc)
            and _equal(self.scale, other.scale)
        )

    @property
    def sign(self) -> Any:
        scale = self.scale
        if isinstance(scale, _Number):
            return int(scale > 0) - int(scale < 0)
        return scale.sign()

    def _call(self, x: Any) -> Any:
        return self.loc + self.scale * x

    def _inverse(self, y: Any) -> Any:
        return (y - self.loc) / self.scale

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        shape, scale = x.shape, self.scale
        if isinstance(scale, _Number):
            result = C.full_like(x, math.log(abs(scale)))
        else:
            result = C.abs(scale).log()
        if self.event_dim:
            result = result.view((*result.shape[: -self.event_dim], -1)).sum(-1)
            shape = shape[: -self.event_dim]
        return result.expand(shape)

    def forward_shape(self, shape: Any) -> Any:
        return _shape_with(shape, self.loc, self.scale)

    def inverse_shape(self, shape: Any) -> Any:
        return _shape_with(shape, self.loc, self.scale)


class CumulativeDistributionTransform(Transform):
    """The cumulative distribution function of a distribution, y = cdf(x)
    (torch.distributions.transforms.CumulativeDistributionTransform)."""

    bijective = True
    codomain = constraints.unit_interval
    sign = +1

    def __init__(self, distribution: Any, cache_size: int = 0) -> None:
        super().__init__(cache_size=cache_size)
        self.distribution = distribution

    @property
    def domain(self) -> Any:  # type: ignore[override]
        return self.distribution.support

    def _call(self, x: Any) -> Any:
        return self.distribution.cdf(x)

    def _inverse(self, y: Any) -> Any:
        return self.distribution.icdf(y)

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        return self.distribution.log_prob(x)

    def _impl_recached(self, cache_size: int) -> Transform:
        return CumulativeDistributionTransform(self.distribution, cache_size=cache_size)
