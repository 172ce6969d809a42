"""impl's divergences of distributions against torch's, for every registered pair of families."""

from __future__ import annotations

import itertools
import warnings

import made_distributions
import pytest
import torch
from made_distributions import assert_agree
from torch.distributions.kl import _KL_REGISTRY

import impl.distributions

# Of each family two programs that make a distribution, with leaves as its parameters.
MADE = {
    "Bernoulli": (
        "Bernoulli(leaf(.2, .7, 0., 1.))",
        "Bernoulli(logits=leaf(.2, .7, -1., 2.))",
    ),
    "Beta": ("Beta(leaf(.5, 2.), leaf(1.5, .7))", "Beta(leaf(1.5, 2.), 3.)"),
    "Binomial": ("Binomial(5, leaf(.2, .7))", "Binomial(torch.tensor([3, 5]), leaf(.3, .6))"),
    "Categorical": (
        "Categorical(leaf([.2, .8, 0.], [.1, .2, .3]))",
        "Categorical(leaf(.2, 0., .3))",
    ),
    "Cauchy": ("Cauchy(leaf(.5, 2.), leaf(1.5, .7))", "Cauchy(leaf(1.5, -2.), 3.)"),
    "ContinuousBernoulli": (
        "ContinuousBernoulli(leaf(.2, .7))",
        "ContinuousBernoulli(logits=leaf(.3, .001))",
    ),
    "Dirichlet": (
        "Dirichlet(leaf([.2, .8, 1.], [.1, .2, .3]))",
        "Dirichlet(leaf(.2, 1., 3.))",
    ),
    "Exponential": ("Exponential(leaf(.2, 3.))", "Exponential(leaf(1.2, .3))"),
    "ExponentialFamily": (
        "Wishart(leaf(4.), leaf([2., .3], [.3, 1.]))",
        "Wishart(leaf(5.), leaf([1., .1], [.1, 1.]))",
    ),
    "Gamma": ("Gamma(leaf(.5, 2.), leaf(1.5, .7))", "Gamma(leaf(1.5, 2.), 3.)"),
    "Geometric": ("Geometric(leaf(.2, .7))", "Geometric(logits=leaf(.3, .001))"),
    "Gumbel": ("Gumbel(leaf(.5, 2.), leaf(1.5, .7))", "Gumbel(leaf(1.5, -2.), 3.)"),
    "HalfNormal": ("HalfNormal(leaf(.2, 3.))", "HalfNormal(leaf(1.2, .3))"),
    "Independent": (
        "Independent(Normal(leaf(.5, 2.), leaf(1.5, .7)), 1)",
        "Independent(Normal(leaf(1.5, -2.), 3.), 1)",
    ),
    "Laplace": ("Laplace(leaf(.5, 2.), leaf(1.5, .7))", "Laplace(leaf(1.5, -2.), 3.)"),
    "LowRankMultivariateNormal": (
        "LowRankMultivariateNormal(leaf([.5, 2.], [1., 2.]), leaf([1.5, .1], [.7, .2]), "
        "leaf(.3, .4))",
        "LowRankMultivariateNormal(leaf(1.5, -2.), leaf([[.5, 1.], [.7, .1]], "
        "[[.5, 1.], [.7, .2]]), leaf(1.3, .4))",
    ),
    "MultivariateNormal": (
        "MultivariateNormal(leaf([.5, 2.], [1., 2.]), leaf([1.5, .7], [.7, 1.2]))",
        "MultivariateNormal(leaf(1.5, -2.), scale_tril=leaf([[.5, 0.], [.7, .1]], "
        "[[.5, 0.], [.7, .2]]))",
    ),
    "Normal": ("Normal(leaf(.5, 2.), leaf(1.5, .7))", "Normal(leaf(1.5, -2.), 3.)"),
    "OneHotCategorical": (
        "OneHotCategorical(leaf([.2, .8, 0.], [.1, .2, .3]))",
        "OneHotCategoricalStraightThrough(leaf(.2, 0., .3))",
    ),
    "Pareto": ("Pareto(leaf(.5, 2.), leaf(2.5, .7))", "Pareto(leaf(1.5, .2), 3.)"),
    "Poisson": ("Poisson(leaf(.2, 3.))", "Poisson(leaf(1.2, .3))"),
    "TransformedDistribution": (
        "LogNormal(leaf(.5, 2.), leaf(1.5, .7))",
        "LogNormal(leaf(1.5, -2.), 3.)",
    ),
    "Uniform": ("Uniform(leaf(.5, -2.), leaf(1.5, .7))", "Uniform(leaf(.1, .3), leaf(.9, 3.))"),
}
PAIRS = sorted({(p.__name__, q.__name__) for p, q in _KL_REGISTRY if p.__module__[:5] == "torch"})

# The leaves are those that the two programs made.
DIVERGENCE = (
    "made = []; made_leaf = leaf; leaf = lambda *a: made.append(made_leaf(*a)) or made[-1]; "
    "k = kl_divergence({}, {}); [k, grads(k, *made) if k.requires_grad else None]"
)


@pytest.fixture(autouse=True)
def rounding_of_sums(monkeypatch):
    """Divergences are sums of terms that cancel."""
    monkeypatch.setattr(made_distributions, "ULPS", 4096)


def test_the_same_pairs_are_registered():
    ours = {(p.__name__, q.__name__) for p, q in impl.distributions.kl._KL_REGISTRY}
    assert {*PAIRS} <= ours
    assert {*ours} <= {(p.__name__, q.__name__) for p, q in _KL_REGISTRY}


@pytest.mark.parametrize(("p", "q"), PAIRS)
def test_divergence_and_its_gradients(p, q):
    for first, second in itertools.product(range(2), repeat=2):
        if p != q or first != second:
            assert_agree(DIVERGENCE.format(MADE[p][first], MADE[q][second]))


@pytest.mark.parametrize(
    "program",
    [
        "kl_divergence(Dirichlet(torch.ones(2)), Normal(0., 1.))",
        "kl_divergence(Chi2(2.), Beta(1., 1.))",
        "kl_divergence(Chi2(2.), Gamma(1., 1.))",
        "kl_divergence(Normal(0., 1.), Poisson(1.))",
        "kl_divergence(Normal(0., 1.), Cauchy(0., 1.))",
        "kl_divergence(Binomial(3, torch.tensor(.5)), Binomial(5, torch.tensor(.5)))",
        "d = Normal(torch.ones(2), 1.); kl_divergence(Independent(d, 1), Independent(d, 0))",
        "kl_divergence(LogNormal(0., 1.), Pareto(1., 2.))",
        "kl_divergence(Uniform(0., 1.), Beta(1., 1.))",
        "kl_divergence(Uniform(0., 1.), ContinuousBernoulli(.5))",
        "kl_divergence(MultivariateNormal(torch.zeros(2), torch.eye(2)), "
        "MultivariateNormal(torch.zeros(3), torch.eye(3)))",
        "kl_divergence(LowRankMultivariateNormal(torch.zeros(2), torch.ones(2, 1), torch.ones(2)), "
        "MultivariateNormal(torch.zeros(3), torch.eye(3)))",
        "kl_divergence(MultivariateNormal(torch.zeros(3), torch.eye(3)), "
        "LowRankMultivariateNormal(torch.zeros(2), torch.ones(2, 1), torch.ones(2)))",
        "kl_divergence(LowRankMultivariateNormal(torch.zeros(2), torch.ones(2, 1), torch.ones(2)), "
        "LowRankMultivariateNormal(torch.zeros(3), torch.ones(3, 1), torch.ones(3)))",
        "kl_divergence(MultivariateNormal(torch.zeros(2, 2), torch.eye(2).expand(2, 2, 2)), "
        "MultivariateNormal(torch.zeros(3, 2), torch.eye(2).expand(3, 2, 2)))",
    ],
)
def test_pairs_without_a_divergence_and_limits(program):
    assert_agree(program)


def test_divergences_of_float32():
    for name in ("Normal", "Gamma", "Categorical", "Dirichlet"):
        first, second = (made.replace("))", ", dtype='float32'))") for made in MADE[name])
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            assert_agree(f"kl_divergence({first}, {second})")


def test_torch_has_no_other_families():
    assert {name for pair in PAIRS for name in pair} == {*MADE}
    assert torch.distributions.kl.kl_divergence is torch.distributions.kl_divergence
