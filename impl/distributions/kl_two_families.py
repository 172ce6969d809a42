"""Divergences KL(p ‖ q) of univariate distributions of two families.

Each is the negative entropy of p minus the expected log density of q, in closed form; it is
infinite where p has values that q does not have.
"""

from __future__ import annotations

import math
from typing import Any

from impl.core.registry import C
from impl.distributions.bernoulli import Bernoulli
from impl.distributions.beta import Beta
from impl.distributions.binomial import Binomial
from impl.distributions.continuous_bernoulli import ContinuousBernoulli
from impl.distributions.exponential import Exponential
from impl.distributions.gamma import Gamma
from impl.distributions.gumbel import Gumbel
from impl.distributions.kl import register_kl
from impl.distributions.laplace import Laplace
from impl.distributions.normal import Normal
from impl.distributions.pareto import Pareto
from impl.distributions.poisson import Poisson
from impl.distributions.uniform import Uniform
from impl.distributions.utils import euler_constant as _EULER
from impl.tensor.tensor import Tensor

_ON_INTERVALS = (Beta, ContinuousBernoulli, Pareto, Uniform)
_POSITIVE = (*_ON_INTERVALS, Exponential, Gamma)
_INFINITE = {
    Beta: ("concentration1", (Pareto,)),
    ContinuousBernoulli: ("probs", (Pareto,)),
    Exponential: ("rate", _ON_INTERVALS),
    Gamma: ("concentration", _ON_INTERVALS),
    Gumbel: ("loc", _POSITIVE),
    Laplace: ("loc", _POSITIVE),
    Normal: ("loc", _POSITIVE),
    Pareto: ("scale", (Beta, ContinuousBernoulli, Uniform)),
    Poisson: ("rate", (Bernoulli, Binomial)),
}
"""The families with values outside the support of other families, and a parameter of theirs, of
whose shape and dtype the infinite divergence is."""


def _register_infinite(family: type, parameter: str, others: tuple[type, ...]) -> None:
    def infinite(p, q) -> Tensor:
        return C.full_like(getattr(p, parameter), math.inf)

    for other in others:
        register_kl(family, other)(infinite)


for _family, (_parameter, _others) in _INFINITE.items():
    _register_infinite(_family, _parameter, _others)


def _x_log_x(x: Tensor) -> Any:
    return C.special_xlogy(x, x)


def _log_integral(low: Any, high: Any) -> Any:
    """The integral of 1 + log x from `low` to `high`."""
    return _x_log_x(high) - _x_log_x(low)


def _gamma_normalizer(q) -> Tensor:
    """The negative logarithm of the constant of a gamma density."""
    return q.concentration.lgamma() - q.concentration * q.rate.log()


# -- from Bernoulli, beta and continuous Bernoulli distributions ---------------------------------


@register_kl(Bernoulli, Poisson)
def _bernoulli_poisson(p, q):
    return -p.entropy() - (p.probs * q.rate.log() - q.rate)


@register_kl(Beta, ContinuousBernoulli)
def _beta_continuous_bernoulli(p, q):
    linear = p.mean * q.logits
    return -p.entropy() - linear - C.log1p(-q.probs) - q._cont_bern_log_norm()


@register_kl(Beta, Exponential)
def _beta_exponential(p, q):
    mean = p.concentration1 / (p.concentration1 + p.concentration0)
    return -p.entropy() - q.rate.log() + q.rate * mean


@register_kl(Beta, Gamma)
def _beta_gamma(p, q):
    total = p.concentration1 + p.concentration0
    expected_log = p.concentration1.digamma() - total.digamma()
    powers = (q.concentration - 1) * expected_log
    linear = q.rate * p.concentration1 / total
    return -p.entropy() + _gamma_normalizer(q) - powers + linear


@register_kl(Beta, Normal)
def _beta_normal(p, q):
    total = p.concentration1 + p.concentration0
    mean = p.concentration1 / total
    variance = q.scale.pow(2)
    normalizer = 0.5 * (variance * 2 * math.pi).log()
    second_moment = mean * (1 - mean) / (total + 1) + mean.pow(2)
    squares = second_moment * 0.5 - q.loc * mean + q.loc.pow(2) * 0.5
    return -p.entropy() + normalizer + squares / variance


@register_kl(Beta, Uniform)
def _beta_uniform(p, q):
    result = -p.entropy() + (q.high - q.low).log()
    support = p.support
    result[(q.low > support.lower_bound) | (q.high < support.upper_bound)] = math.inf
    return result


@register_kl(ContinuousBernoulli, Exponential)
def _continuous_bernoulli_exponential(p, q):
    return -p.entropy() - C.log(q.rate) + q.rate * p.mean


@register_kl(ContinuousBernoulli, Normal)
def _continuous_bernoulli_normal(p, q):
    normalizer = 0.5 * (math.log(2.0 * math.pi) + C.square(q.loc / q.scale)) + C.log(q.scale)
    moments = p.variance + C.square(p.mean) - 2.0 * q.loc * p.mean
    return -p.entropy() + normalizer + moments / (2.0 * C.square(q.scale))


@register_kl(ContinuousBernoulli, Uniform)
def _continuous_bernoulli_uniform(p, q):
    """Infinite, as torch has it, where q begins or ends within the unit interval or at its ends."""
    result = -p.entropy() + (q.high - q.low).log()
    above = C.ge(q.low, p.support.lower_bound)
    below = C.le(q.high, p.support.upper_bound)
    return C.where(C.max(above, below), C.ones_like(result) * math.inf, result)


# -- from exponential and gamma distributions ----------------------------------------------------


@register_kl(Exponential, Gamma)
def _exponential_gamma(p, q):
    ratio = q.rate / p.rate
    rates = -q.concentration * C.log(ratio)
    shapes = rates + ratio + q.concentration.lgamma() + q.concentration * _EULER
    return shapes - (1 + _EULER)


@register_kl(Exponential, Gumbel)
def _exponential_gumbel(p, q):
    product = p.rate * q.scale
    loc = q.loc / q.scale
    power = C.exp(loc) * product / (product + 1)
    return product.log() - 1 - loc + power + product.reciprocal()


@register_kl(Exponential, Normal)
def _exponential_normal(p, q):
    variance = q.scale.pow(2)
    squared_rate = p.rate.pow(2)
    normalizer = 0.5 * C.log(squared_rate * variance * 2 * math.pi)
    moments = squared_rate.reciprocal() - q.loc / p.rate + q.loc.pow(2) * 0.5
    return normalizer - 1 + moments / variance


@register_kl(Gamma, Exponential)
def _gamma_exponential(p, q):
    return -p.entropy() - q.rate.log() + q.rate * p.concentration / p.rate


@register_kl(Gamma, Gumbel)
def _gamma_gumbel(p, q):
    alpha = p.concentration
    product = p.rate * q.scale
    loc = q.loc / q.scale
    entropy = (alpha - 1) * alpha.digamma() - alpha.lgamma() - alpha
    linear = product.log() + alpha / product
    power = C.exp(loc) * (1 + product.reciprocal()).pow(-alpha)
    return entropy + linear + (power - loc)


@register_kl(Gamma, Normal)
def _gamma_normal(p, q):
    alpha = p.concentration
    variance = q.scale.pow(2)
    squared_rate = p.rate.pow(2)
    normalizer = 0.5 * C.log(squared_rate * variance * 2 * math.pi) - alpha - alpha.lgamma()
    second = 0.5 * (alpha.pow(2) + alpha) / squared_rate
    moments = second - q.loc * alpha / p.rate + 0.5 * q.loc.pow(2)
    return normalizer + (alpha - 1) * alpha.digamma() + moments / variance


# -- from distributions on the real line ---------------------------------------------------------


@register_kl(Gumbel, Normal)
def _gumbel_normal(p, q):
    ratio = p.scale / q.scale
    normalizer = (ratio / math.sqrt(2 * math.pi)).log()
    variance = (math.pi * ratio * 0.5).pow(2) / 3
    distance = ((p.loc + p.scale * _EULER - q.loc) / q.scale).pow(2) * 0.5
    return -normalizer + variance + distance - (_EULER + 1)


@register_kl(Laplace, Normal)
def _laplace_normal(p, q):
    variance = q.scale.pow(2)
    ratio = p.scale.pow(2) / variance
    normalizer = 0.5 * C.log(2 * ratio / math.pi)
    squares = 0.5 * p.loc.pow(2) - p.loc * q.loc + 0.5 * q.loc.pow(2)
    return -normalizer + ratio + squares / variance - 1


@register_kl(Normal, Gumbel)
def _normal_gumbel(p, q):
    p_loc, q_loc = p.loc / q.scale, q.loc / q.scale
    variance = (p.scale / q.scale).pow(2)
    power = C.exp(-p_loc + 0.5 * variance + q_loc)
    constant = 0.5 * (1 + math.log(2 * math.pi))
    return -(variance.log() * 0.5) + (p_loc - q_loc) + power - constant


@register_kl(Normal, Laplace)
def _normal_laplace(p, q):
    shift = p.loc - q.loc
    scaled = shift / p.scale
    at_zero = math.sqrt(2 / math.pi) * p.scale * C.exp(-0.5 * scaled.pow(2))
    distance = at_zero + shift * C.erf(math.sqrt(0.5) * scaled)
    constant = 0.5 * (1 + math.log(0.5 * math.pi))
    return -C.log(p.scale / q.scale) + distance / q.scale - constant


# -- from Pareto distributions, whose moments are finite for large alpha only --------------------


@register_kl(Pareto, Exponential)
def _pareto_exponential(p, q):
    product = p.scale * q.rate
    linear = p.alpha * product / (p.alpha - 1)
    result = (p.alpha / product).log() - p.alpha.reciprocal() + linear - 1
    result[p.alpha <= 1] = math.inf
    return result


@register_kl(Pareto, Gamma)
def _pareto_gamma(p, q):
    expected_log = p.scale.log() + p.alpha.reciprocal()
    entropy = p.alpha.log() - expected_log
    powers = (1 - q.concentration) * expected_log
    linear = q.rate * p.alpha * p.scale / (p.alpha - 1)
    result = entropy + _gamma_normalizer(q) + powers + linear - 1
    result[p.alpha <= 1] = math.inf
    return result


@register_kl(Pareto, Normal)
def _pareto_normal(p, q):
    part = p.scale / (p.alpha - 1)
    normalizer = (math.sqrt(2 * math.pi) * q.scale * p.alpha / p.scale).log()
    variance = p.alpha * part.pow(2) / (p.alpha - 2)
    squares = variance + (p.alpha * part - q.loc).pow(2)
    result = normalizer - p.alpha.reciprocal() + squares / (2 * q.scale.pow(2)) - 1
    result[p.alpha <= 2] = math.inf
    return result


# -- from uniform distributions ------------------------------------------------------------------


@register_kl(Uniform, Beta)
def _uniform_beta(p, q):
    width = p.high - p.low
    first, second = q.concentration1, q.concentration0
    of_x = (first - 1) * (_log_integral(p.low, p.high) - width) / width
    rest = (second - 1) * (_log_integral(1 - p.low, 1 - p.high) + width) / width
    normalizer = first.lgamma() + second.lgamma() - (first + second).lgamma()
    result = rest + normalizer - C.log(width) - of_x
    support = q.support
    result[(p.high > support.upper_bound) | (p.low < support.lower_bound)] = math.inf
    return result


@register_kl(Uniform, ContinuousBernoulli)
def _uniform_continuous_bernoulli(p, q):
    """Infinite, as torch has it, where p reaches an end of the unit interval."""
    linear = p.mean * q.logits
    result = -p.entropy() - linear - C.log1p(-q.probs) - q._cont_bern_log_norm()
    above = C.ge(p.high, q.support.upper_bound)
    below = C.le(p.low, q.support.lower_bound)
    return C.where(C.max(above, below), C.ones_like(result) * math.inf, result)


@register_kl(Uniform, Exponential)
def _uniform_exponential(p, q):
    result = q.rate * (p.high + p.low) / 2 - ((p.high - p.low) * q.rate).log()
    result[p.low < q.support.lower_bound] = math.inf
    return result


@register_kl(Uniform, Gamma)
def _uniform_gamma(p, q):
    width = p.high - p.low
    powers = (1 - q.concentration) * (_log_integral(p.low, p.high) - width) / width
    linear = q.rate * (p.high + p.low) / 2
    result = -width.log() + _gamma_normalizer(q) + powers + linear
    result[p.low < q.support.lower_bound] = math.inf
    return result


@register_kl(Uniform, Gumbel)
def _uniform_gumbel(p, q):
    ratio = q.scale / (p.high - p.low)
    high, low = (p.high - q.loc) / q.scale, (p.low - q.loc) / q.scale
    linear = ratio.log() + 0.5 * (high + low)
    return linear - ratio * (C.exp(-high) - C.exp(-low))


@register_kl(Uniform, Normal)
def _uniform_normal(p, q):
    width = p.high - p.low
    normalizer = (math.sqrt(math.pi * 2) * q.scale / width).log()
    distance = ((p.high + p.low - 2 * q.loc) / 2).pow(2)
    return normalizer + 0.5 * (width.pow(2) / 12 + distance) / q.scale.pow(2)


@register_kl(Uniform, Pareto)
def _uniform_pareto(p, q):
    width = p.high - p.low
    normalizer = (q.alpha * q.scale.pow(q.alpha) * width).log()
    mean_log = (_log_integral(p.low, p.high) - width) / width
    result = mean_log * (q.alpha + 1) - normalizer
    result[p.low < q.support.lower_bound] = math.inf
    return result
