"""The continuous Bernoulli distribution."""

from __future__ import annotations

import math
from typing import Any

from impl.core.grad_mode import no_grad
from impl.core.registry import C
from impl.core.sizes import Size
from impl.distributions import _success, constraints
from impl.distributions._parameters import validated
from impl.distributions.exp_family import ExponentialFamily
from impl.distributions.utils import broadcast_all, clamp_probs
from impl.nn.functional import binary_cross_entropy_with_logits
from impl.tensor.tensor import Tensor

__all__ = ["ContinuousBernoulli"]


class ContinuousBernoulli(ExponentialFamily):
    """The distribution on [0, 1] whose density is proportional to p ** x * (1 - p) ** (1 - x).

    One of `probs` and `logits`, the log-odds of p, is given: a number or a floating tensor of the
    batch shape. Probabilities are kept away from 0 and 1 by the dtype's `eps`. Between the two
    `lims` around 1/2, where the formulas lose their digits, their Taylor expansions are used.
    Raises ValueError for none of the parameters, for both and, with `validate_args`, for
    probabilities outside [0, 1] (torch.distributions.ContinuousBernoulli).

    G. Loaiza-Ganem and J. P. Cunningham, "The continuous Bernoulli: fixing a pervasive error in
    variational autoencoders", NeurIPS 2019.
    """

    arg_constraints = {"probs": constraints.unit_interval, "logits": constraints.real}
    support = constraints.unit_interval
    _mean_carrier_measure = 0
    has_rsample = True
    logits: Any = _success.logits
    param_shape = property(_success.param_shape)
    _new = _success.new_tensor

    def __init__(
        self,
        probs=None,
        logits=None,
        lims: tuple[float, float] = (0.499, 0.501),
        validate_args: bool | None = None,
    ) -> None:
        shape = _success.set_success(self, probs, logits)
        if probs is not None:
            in_range = self.arg_constraints["probs"].check(self.probs).all()
            if validate_args is not None and not in_range:
                raise ValueError("The parameter probs has invalid values")
            self.probs = clamp_probs(self.probs)
        self._param = _success.given(self)
        self._lims = lims
        super().__init__(shape, validate_args=validate_args)

    def expand(self, batch_shape, _instance=None):
        new = _success.expanded_success(self, ContinuousBernoulli, batch_shape, _instance)
        new._lims = self._lims
        return new

    def _outside_unstable_region(self):
        return C.max(C.le(self.probs, self._lims[0]), C.gt(self.probs, self._lims[1]))

    def _cut_probs(self):
        """`probs`, and the lower limit in places between the limits."""
        limit = self._lims[0] * C.ones_like(self.probs)
        return C.where(self._outside_unstable_region(), self.probs, limit)

    def _cont_bern_log_norm(self):
        """The logarithm of the constant in front of the density."""
        cut = self._cut_probs()
        below = C.where(cut <= 0.5, cut, C.zeros_like(cut))
        above = C.where(cut >= 0.5, cut, C.ones_like(cut))
        difference = C.log(C.abs(C.log1p(-cut) - C.log(cut)))
        log_norm = difference - C.where(cut <= 0.5, C.log1p(-2.0 * below), C.log(2.0 * above - 1.0))
        x = C.pow(self.probs - 0.5, 2)
        taylor = math.log(2.0) + (4.0 / 3.0 + 104.0 / 45.0 * x) * x
        return C.where(self._outside_unstable_region(), log_norm, taylor)

    @property
    def mean(self) -> Tensor:
        cut = self._cut_probs()
        mean = cut / (2.0 * cut - 1.0) + 1.0 / (C.log1p(-cut) - C.log(cut))
        x = self.probs - 0.5
        taylor = 0.5 + (1.0 / 3.0 + 16.0 / 45.0 * C.pow(x, 2)) * x
        return C.where(self._outside_unstable_region(), mean, taylor)

    @property
    def stddev(self) -> Tensor:
        return C.sqrt(self.variance)

    @property
    def variance(self) -> Tensor:
        cut = self._cut_probs()
        curve = cut * (cut - 1.0) / C.pow(1.0 - 2.0 * cut, 2)
        variance = curve + 1.0 / C.pow(C.log1p(-cut) - C.log(cut), 2)
        x = C.pow(self.probs - 0.5, 2)
        taylor = 1.0 / 12.0 - (1.0 / 15.0 - 128.0 / 945.0 * x) * x
        return C.where(self._outside_unstable_region(), variance, taylor)

    @_success.lazy_property
    def probs(self):
        """The probability of success of the discrete trial, away from 0 and 1."""
        return clamp_probs(_success.logits_to_probs(self.logits, is_binary=True))

    def sample(self, sample_shape=Size()):
        with no_grad():
            return self.rsample(sample_shape)

    def rsample(self, sample_shape=Size()) -> Tensor:
        shape = self._extended_shape(sample_shape)
        return self.icdf(C.rand(shape, dtype=self.probs.dtype, device=self.probs.device))

    @validated
    def log_prob(self, value):
        logits, value = broadcast_all(self.logits, value)
        log_density = -binary_cross_entropy_with_logits(logits, value, reduction="none")
        return log_density + self._cont_bern_log_norm()

    @validated
    def cdf(self, value):
        cut = self._cut_probs()
        powers = C.pow(cut, value) * C.pow(1.0 - cut, 1.0 - value)
        cdf = (powers + cut - 1.0) / (2.0 * cut - 1.0)
        inside = C.where(self._outside_unstable_region(), cdf, value)
        return C.where(
            C.le(value, 0.0),
            C.zeros_like(value),
            C.where(C.ge(value, 1.0), C.ones_like(value), inside),
        )

    def icdf(self, value):
        cut = self._cut_probs()
        inverse = (C.log1p(-cut + value * (2.0 * cut - 1.0)) - C.log1p(-cut)) / (
            C.log(cut) - C.log1p(-cut)
        )
        return C.where(self._outside_unstable_region(), inverse, value)

    def entropy(self):
        log_failure, log_success = C.log1p(-self.probs), C.log(self.probs)
        expected = self.mean * (log_failure - log_success)
        return expected - self._cont_bern_log_norm() - log_failure

    @property
    def _natural_params(self) -> tuple[Tensor]:
        return (self.logits,)

    def _log_normalizer(self, x):  # type: ignore[override]
        lower, upper = (limit - 0.5 for limit in self._lims)
        outside = C.max(C.le(x, lower), C.gt(x, upper))
        cut = C.where(outside, x, lower * C.ones_like(x))
        log_norm = C.log(C.abs(C.special_expm1(cut))) - C.log(C.abs(cut))
        taylor = 0.5 * x + C.pow(x, 2) / 24.0 - C.pow(x, 4) / 2880.0
        return C.where(outside, log_norm, taylor)
