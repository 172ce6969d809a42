"""Divergences KL(p ‖ q) of two distributions of one univariate, categorical or Dirichlet family,
and of composed distributions.

Most of the continuous ones are listed by M. Gil, F. Alajaji and T. Linder, "Rényi divergence
measures for commonly used univariate continuous distributions", 2013.
"""

from __future__ import annotations

import math
from typing import Any

from impl.autograd import grad
from impl.core.registry import C
from impl.distributions.bernoulli import Bernoulli
from impl.distributions.beta import Beta
from impl.distributions.binomial import Binomial
from impl.distributions.categorical import Categorical
from impl.distributions.cauchy import Cauchy
from impl.distributions.continuous_bernoulli import ContinuousBernoulli
from impl.distributions.dirichlet import Dirichlet
from impl.distributions.exp_family import ExponentialFamily
from impl.distributions.exponential import Exponential
from impl.distributions.gamma import Gamma
from impl.distributions.geometric import Geometric
from impl.distributions.gumbel import Gumbel
from impl.distributions.half_normal import HalfNormal
from impl.distributions.independent import Independent
from impl.distributions.kl import kl_divergence, register_kl
from impl.distributions.laplace import Laplace
from impl.distributions.normal import Normal
from impl.distributions.one_hot_categorical import OneHotCategorical
from impl.distributions.pareto import Pareto
from impl.distributions.poisson import Poisson
from impl.distributions.transformed_distribution import TransformedDistribution
from impl.distributions.uniform import Uniform
from impl.distributions.utils import _sum_rightmost
from impl.distributions.utils import euler_constant as _EULER
from impl.nn.functional import softplus
from impl.tensor.tensor import Tensor

_CROSS_FAMILIES = (
    "The cross KL-divergence between different exponential families cannot"
    + " " * 29
    + "be computed using Bregman divergences"
)


def _softplus_difference(first: Tensor, second: Tensor) -> Any:
    raised: Any = softplus(first)
    return raised - softplus(second)


@register_kl(Bernoulli, Bernoulli)
def _bernoulli(p, q):
    success = p.probs * _softplus_difference(-q.logits, -p.logits)
    success[q.probs == 0] = math.inf
    success[p.probs == 0] = 0
    failure = (1 - p.probs) * _softplus_difference(q.logits, p.logits)
    failure[q.probs == 1] = math.inf
    failure[p.probs == 1] = 0
    return success + failure


@register_kl(Beta, Beta)
def _beta(p, q):
    p1, p0, q1, q0 = p.concentration1, p.concentration0, q.concentration1, q.concentration0
    p_total, q_total = p1 + p0, q1 + q0
    of_q = q1.lgamma() + q0.lgamma() + p_total.lgamma()
    of_p = p1.lgamma() + p0.lgamma() + q_total.lgamma()
    first = (p1 - q1) * C.digamma(p1)
    second = (p0 - q0) * C.digamma(p0)
    return of_q - of_p + first + second + (q_total - p_total) * C.digamma(p_total)


@register_kl(Binomial, Binomial)
def _binomial(p, q):
    """Infinite where p has more trials; NotImplementedError where it has fewer."""
    if (p.total_count < q.total_count).any():
        raise NotImplementedError(
            "KL between Binomials where q.total_count > p.total_count is not implemented"
        )
    of_trial = p.probs * (p.logits - q.logits) + (-p.probs).log1p() - (-q.probs).log1p()
    result = p.total_count * of_trial
    more = p.total_count > q.total_count
    result[more] = C.full_like(result[more], math.inf)
    return result


@register_kl(Categorical, Categorical)
def _categorical(p, q):
    terms = p.probs * (p.logits - q.logits)
    terms[(q.probs == 0).expand_as(terms)] = math.inf
    terms[(p.probs == 0).expand_as(terms)] = 0
    return terms.sum(-1)


@register_kl(OneHotCategorical, OneHotCategorical)
def _one_hot_categorical(p, q):
    return _categorical(p._categorical, q._categorical)


@register_kl(Cauchy, Cauchy)
def _cauchy(p, q):
    """F. Chyzak and F. Nielsen, "A closed-form formula for the Kullback-Leibler divergence between
    Cauchy distributions", 2019."""
    apart = ((p.scale + q.scale).pow(2) + (p.loc - q.loc).pow(2)).log()
    return apart - (4 * p.scale * q.scale).log()


@register_kl(ContinuousBernoulli, ContinuousBernoulli)
def _continuous_bernoulli(p, q):
    slope = p.mean * (p.logits - q.logits)
    of_p = p._cont_bern_log_norm() + C.log1p(-p.probs)
    of_q = -q._cont_bern_log_norm() - C.log1p(-q.probs)
    return slope + of_p + of_q


@register_kl(Dirichlet, Dirichlet)
def _dirichlet(p, q):
    alpha, beta = p.concentration, q.concentration
    total = alpha.sum(-1)
    of_totals = total.lgamma() - beta.sum(-1).lgamma()
    of_elements = (alpha.lgamma() - beta.lgamma()).sum(-1)
    expected = alpha.digamma() - total.digamma().unsqueeze(-1)
    return of_totals - of_elements + ((alpha - beta) * expected).sum(-1)


@register_kl(Exponential, Exponential)
def _exponential(p, q):
    ratio = q.rate / p.rate
    return -ratio.log() + ratio - 1


@register_kl(ExponentialFamily, ExponentialFamily)
def _exponential_family(p, q):
    """The Bregman divergence of the log normalizer, for two distributions of one class.

    F. Nielsen and R. Nock, "Entropies and cross-entropies of exponential families", ICIP 2010.
    Raises NotImplementedError for two classes.
    """
    if type(p) is not type(q):
        raise NotImplementedError(_CROSS_FAMILIES)
    of_p = [parameter.detach().requires_grad_() for parameter in p._natural_params]
    of_q = q._natural_params
    normalizer = p._log_normalizer(*of_p)
    gradients = grad(normalizer.sum(), of_p, create_graph=True)
    result = q._log_normalizer(*of_q) - normalizer
    for theirs, ours, gradient in zip(of_q, of_p, gradients, strict=True):
        result -= _sum_rightmost((theirs - ours) * gradient, len(q.event_shape))
    return result


@register_kl(Gamma, Gamma)
def _gamma(p, q):
    alpha, beta = p.concentration, q.concentration
    rates = beta * (p.rate / q.rate).log()
    normalizers = C.lgamma(beta) - C.lgamma(alpha)
    shapes = (alpha - beta) * C.digamma(alpha)
    return rates + normalizers + shapes + (q.rate - p.rate) * (alpha / p.rate)


@register_kl(Geometric, Geometric)
def _geometric(p, q):
    return -p.entropy() - C.log1p(-q.probs) / p.probs - q.logits


@register_kl(Gumbel, Gumbel)
def _gumbel(p, q):
    ratio = p.scale / q.scale
    q_loc, p_loc = q.loc / q.scale, p.loc / q.scale
    linear = -ratio.log() - q_loc + p_loc
    power = C.exp(q_loc + (1 + ratio).lgamma() - p_loc)
    return linear + ratio * _EULER + power - (1 + _EULER)


@register_kl(Laplace, Laplace)
def _laplace(p, q):
    ratio = p.scale / q.scale
    distance = (p.loc - q.loc).abs()
    decay = ratio * C.exp(-distance / p.scale)
    return -ratio.log() + distance / q.scale + decay - 1


@register_kl(Normal, Normal)
def _normal(p, q):
    variances = (p.scale / q.scale).pow(2)
    distance = ((p.loc - q.loc) / q.scale).pow(2)
    return 0.5 * (variances + distance - 1 - variances.log())


@register_kl(HalfNormal, HalfNormal)
def _half_normal(p, q):
    return _normal(p.base_dist, q.base_dist)


@register_kl(Pareto, Pareto)
def _pareto(p, q):
    scales = q.alpha * (p.scale / q.scale).log()
    ratio = q.alpha / p.alpha
    result = scales + -ratio.log() + ratio - 1
    result[p.support.lower_bound < q.support.lower_bound] = math.inf
    return result


@register_kl(Poisson, Poisson)
def _poisson(p, q):
    return p.rate * (p.rate.log() - q.rate.log()) - (p.rate - q.rate)


@register_kl(Uniform, Uniform)
def _uniform(p, q):
    result = ((q.high - q.low) / (p.high - p.low)).log()
    result[(q.low > p.low) | (q.high < p.high)] = math.inf
    return result


@register_kl(Independent, Independent)
def _independent(p, q) -> Tensor:
    """NotImplementedError where they reinterpret different numbers of dimensions."""
    if p.reinterpreted_batch_ndims != q.reinterpreted_batch_ndims:
        raise NotImplementedError
    return _sum_rightmost(kl_divergence(p.base_dist, q.base_dist), p.reinterpreted_batch_ndims)


@register_kl(TransformedDistribution, TransformedDistribution)
def _transformed(p, q) -> Tensor:
    """That of the base distributions; NotImplementedError where transforms or events differ."""
    if p.transforms != q.transforms or p.event_shape != q.event_shape:
        raise NotImplementedError
    return kl_divergence(p.base_dist, q.base_dist)
