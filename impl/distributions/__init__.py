"""`torch.distributions`: probability distributions, their transforms and divergences.

Each distribution stands in a module of its own, which is named as that of torch.
"""

from impl.distributions import (
    constraints,
    kl_multivariate,
    kl_same_family,
    kl_two_families,
    transforms,
)
from impl.distributions.bernoulli import Bernoulli
from impl.distributions.beta import Beta
from impl.distributions.binomial import Binomial
from impl.distributions.categorical import Categorical
from impl.distributions.cauchy import Cauchy
from impl.distributions.chi2 import Chi2
from impl.distributions.constraint_registry import biject_to, transform_to
from impl.distributions.continuous_bernoulli import ContinuousBernoulli
from impl.distributions.dirichlet import Dirichlet
from impl.distributions.distribution import Distribution
from impl.distributions.exp_family import ExponentialFamily
from impl.distributions.exponential import Exponential
from impl.distributions.fishersnedecor import FisherSnedecor
from impl.distributions.gamma import Gamma
from impl.distributions.generalized_pareto import GeneralizedPareto
from impl.distributions.geometric import Geometric
from impl.distributions.gumbel import Gumbel
from impl.distributions.half_cauchy import HalfCauchy
from impl.distributions.half_normal import HalfNormal
from impl.distributions.independent import Independent
from impl.distributions.inverse_gamma import InverseGamma
from impl.distributions.kl import kl_divergence, register_kl
from impl.distributions.kumaraswamy import Kumaraswamy
from impl.distributions.laplace import Laplace
from impl.distributions.lkj_cholesky import LKJCholesky
from impl.distributions.log_normal import LogNormal
from impl.distributions.logistic_normal import LogisticNormal
from impl.distributions.lowrank_multivariate_normal import LowRankMultivariateNormal
from impl.distributions.mixture_same_family import MixtureSameFamily
from impl.distributions.multinomial import Multinomial
from impl.distributions.multivariate_normal import MultivariateNormal
from impl.distributions.negative_binomial import NegativeBinomial
from impl.distributions.normal import Normal
from impl.distributions.one_hot_categorical import (
    OneHotCategorical,
    OneHotCategoricalStraightThrough,
)
from impl.distributions.pareto import Pareto
from impl.distributions.poisson import Poisson
from impl.distributions.relaxed_bernoulli import RelaxedBernoulli
from impl.distributions.relaxed_categorical import RelaxedOneHotCategorical
from impl.distributions.studentT import StudentT
from impl.distributions.transformed_distribution import TransformedDistribution
from impl.distributions.transforms import *  # noqa: F403
from impl.distributions.uniform import Uniform
from impl.distributions.von_mises import VonMises
from impl.distributions.weibull import Weibull
from impl.distributions.wishart import Wishart

__all__ = [
    "Bernoulli", "Beta", "Binomial", "Categorical", "Cauchy", "Chi2", "ContinuousBernoulli",
    "Dirichlet", "Distribution", "Exponential", "ExponentialFamily", "FisherSnedecor", "Gamma",
    "GeneralizedPareto", "Geometric", "Gumbel", "HalfCauchy", "HalfNormal", "Independent",
    "InverseGamma", "Kumaraswamy", "LKJCholesky", "Laplace", "LogNormal", "LogisticNormal",
    "LowRankMultivariateNormal", "MixtureSameFamily", "Multinomial", "MultivariateNormal",
    "NegativeBinomial", "Normal", "OneHotCategorical", "OneHotCategoricalStraightThrough",
    "Pareto", "Poisson", "RelaxedBernoulli", "RelaxedOneHotCategorical", "StudentT",
    "TransformedDistribution", "Uniform", "VonMises", "Weibull", "Wishart", "biject_to",
    "kl_divergence", "register_kl", "transform_to",
]  # fmt: skip
__all__ += transforms.__all__
