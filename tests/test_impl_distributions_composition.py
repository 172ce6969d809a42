"""The base of distributions, and distributions made from others, against those of torch."""

from __future__ import annotations

import importlib
import inspect
import pkgutil

import pytest
import torch
from made_distributions import assert_agree, programs

import impl

BASE = r"""
d = Distribution(); d
d = Distribution(validate_args=False); [d.batch_shape, d.event_shape, d.has_rsample,
    d.has_enumerate_support]
Distribution(validate_args=False).mean
Distribution(validate_args=False).mode
Distribution(validate_args=False).variance
Distribution(validate_args=False).stddev
Distribution(validate_args=False).support
Distribution(validate_args=False).sample()
Distribution(validate_args=False).sample_n(3)
Distribution(validate_args=False).rsample()
Distribution(validate_args=False).log_prob(1)
Distribution(validate_args=False).cdf(1)
Distribution(validate_args=False).icdf(1)
Distribution(validate_args=False).entropy()
Distribution(validate_args=False).perplexity()
Distribution(validate_args=False).expand((2,))
Distribution(validate_args=False).enumerate_support()
Distribution(validate_args=False)
Distribution.set_default_validate_args(3)
D.Distribution.set_default_validate_args(False); d = Normal(0., -1.);
    D.Distribution.set_default_validate_args(True); d
Distribution(torch.Size([2]), torch.Size([3]), validate_args=False)._extended_shape((4,))
Distribution(torch.Size([2]), torch.Size([3]),
    validate_args=False)._extended_shape(torch.Size([4]))
Distribution(torch.Size([2]), torch.Size([3]), validate_args=False)._extended_shape()
Distribution(torch.Size([2]), torch.Size([3]), validate_args=False)._validate_sample(3)
Distribution(torch.Size([2]), torch.Size([3]),
    validate_args=False)._validate_sample(torch.ones(2))
Distribution(torch.Size([2]), torch.Size([3]), validate_args=False)._validate_sample(torch.ones(4,
    3))
Distribution(torch.Size([2]), torch.Size([3]), validate_args=False)._validate_sample(torch.ones(2,
    3))
Distribution(torch.Size([2]), torch.Size([3]), validate_args=False)._validate_sample(torch.ones(1,
    3))
Normal(torch.zeros(2), torch.tensor([1., -1.]))
Normal(0., -1.)
Normal(leaf(0.), leaf(float("nan")))
Normal(torch.zeros(2), 1.).log_prob(torch.tensor([0., float("nan")]))
Normal(torch.zeros(2), 1.).log_prob(0.5)
Normal(torch.zeros(2), 1.).log_prob(torch.zeros(3))
Normal(torch.zeros(2), 1.).cdf(torch.zeros(3))
Normal(0., 1., validate_args=False).log_prob(torch.tensor(float("nan")))
[Normal(torch.zeros(2), 1.), Normal(0., 1.)]
Normal(torch.zeros(2), 1.).perplexity()
Normal(torch.zeros(2), 1.).sample_n(2)
N = type("N", (Normal,), {"__init__": lambda self, a: Normal.__init__(self, a, 1.)});
    N(torch.zeros(2)).expand((3, 2))
N = type("N", (Normal,), {}); N(torch.zeros(2), 1.).expand((3, 2))
W = type("W", (Distribution,), {"arg_constraints": {"a": c.dependent}}); W()
W = type("W", (Distribution,), {"arg_constraints": {"a": c.positive}}); W()
W = type("W", (Distribution,), {"arg_constraints": {"a": c.positive}, "a": u.lazy_property(lambda
    self: 1)}); W().batch_shape
"""

FUNCTIONS = r"""
torch.func.vmap(lambda l: Normal(l, 1.).log_prob(torch.tensor(0.5)))(torch.arange(3.))
torch.func.vmap(lambda l: Normal(l, 1.,
    validate_args=False).log_prob(torch.tensor(0.5)))(torch.arange(3.))
torch.func.grad(lambda l: Normal(l, 1.).log_prob(torch.tensor(0.5)))(torch.tensor(1.))
torch.func.vmap(lambda l: Normal(l, 1., validate_args=False).rsample(),
    randomness="different")(torch.arange(3.))
torch.func.vmap(lambda l: t.StickBreakingTransform()(l))(torch.arange(6.).reshape(2, 3))
torch.func.vmap(lambda l: t.CorrCholeskyTransform()(l))(torch.arange(6.).reshape(2, 3))
torch.func.jacrev(lambda l: t.StickBreakingTransform()(l))(torch.arange(3.))
A = type("A", (), {"p": u.lazy_property(lambda s: torch.ones(1) * x)}); x = leaf(1.);
    A.p.__class__.__name__
x = leaf(1.); A = type("A", (), {"p": u.lazy_property(lambda s: x * 2)}); A.p.wrapped.__name__
f = lambda s: x * 2; f.__name__ = "p"; x = leaf(1.); A = type("A", (), {"p": u.lazy_property(f)});
    a = A(); torch.set_grad_enabled(False); r = a.p; torch.set_grad_enabled(True); [r, a.p is r,
    a.__dict__]
E = type("E", (ExponentialFamily,), {"arg_constraints": {}, "_natural_params": property(lambda s:
    (leaf(1., 2.),)), "_log_normalizer": lambda s, x: -x.log(), "_mean_carrier_measure": 0});
    E(torch.Size([2])).entropy()
E = type("E", (ExponentialFamily,), {"arg_constraints": {}, "_natural_params": property(lambda s:
    (leaf(1., 2.), leaf(3., 4.))), "_log_normalizer": lambda s, x, y: -x.log() * y,
    "_mean_carrier_measure": 1.5}); E(torch.Size([2])).entropy()
ExponentialFamily(validate_args=False).entropy()
ExponentialFamily(validate_args=False)._natural_params
ExponentialFamily(validate_args=False)._log_normalizer(1)
TransformedDistribution(Normal(torch.zeros(2), 1.), [t.ExpTransform()]).mean
d = Independent(Categorical(torch.ones(3, 4)), 1); [d.support, d.log_prob(torch.tensor([0, 1,
    3])), d.sample((2,)), d.mode]
d = Independent(Categorical(torch.ones(3, 4)), 1); d.log_prob(torch.tensor([0, 1, 4]))
"""

INDEPENDENT = r"""
d = Independent(Normal(torch.zeros(2, 3), leaf([1., 2., 3.], dtype="float32")), 1); [d,
    d.batch_shape, d.event_shape, d.mean, d.mode, d.variance, d.stddev, d.support, d.has_rsample,
    d.has_enumerate_support, d.entropy(), d.log_prob(torch.ones(2, 3)), d.sample(),
    d.rsample((2,)), d.expand((4, 2)), d.expand((4, 2)).batch_shape]
s = leaf(1., 2., 3.); d = Independent(Normal(torch.zeros(2, 3, dtype=torch.float64), s), 2);
    grads(d.log_prob(torch.ones(2, 3)) + d.rsample().sum(), s)
d = Independent(Normal(torch.zeros(2), 1.), 0); [d, d.support, d.log_prob(torch.ones(2)),
    d.has_enumerate_support]
Independent(Normal(torch.zeros(2), 1.), 2)
d = Independent(Bernoulli(torch.full((2,), 0.3)), 1); [d.support, d.has_enumerate_support,
    d.has_rsample]
d = Independent(Bernoulli(torch.full((2,), 0.3)), 1); d.enumerate_support()
d = Independent(Bernoulli(torch.full((2,), 0.3)), 0); d.enumerate_support()
[Independent(Normal(torch.zeros(2), 1.), 1).log_prob(torch.zeros(3))]
Independent(Normal(torch.zeros(2), 1.), 1).cdf(torch.zeros(2))
[Independent.support.event_dim]
d = copied(Independent(Normal(torch.zeros(2), 1.), 1)); [d, pickled(d), saved(d)]
Independent[Normal]
"""

TRANSFORMED = r"""
l = leaf(0.5, 1.); d = TransformedDistribution(Normal(l, 1.), [t.ExpTransform(),
    t.AffineTransform(1., -2.)]); x = d.rsample((3,)); [d, x, d.sample(), d.log_prob(x), grads(x,
    l), grads(d.log_prob(x.detach()), l), d.cdf(x), d.icdf(leaf(0.3, 0.6)), d.support,
    d.has_rsample, d.batch_shape, d.event_shape]
d = TransformedDistribution(Normal(torch.zeros(2), 1.), t.ExpTransform());
    [d.log_prob(torch.tensor([1., 2.])), d.cdf(torch.tensor([1., 2.])), d.expand((3, 2)),
    d.expand((3, 2)).sample().shape, d.transforms]
d = TransformedDistribution(Normal(torch.zeros(2), 1.), t.ExpTransform());
    d.log_prob(torch.tensor([1., -2.]))
d = TransformedDistribution(Normal(torch.zeros(2), 1.), t.ExpTransform());
    d.log_prob(torch.tensor([1., 2., 3.]))
TransformedDistribution(Normal(torch.zeros(2), 1.), 3)
TransformedDistribution(Normal(torch.zeros(2), 1.), (t.ExpTransform(),))
TransformedDistribution(Normal(torch.zeros(2), 1.), [3])
TransformedDistribution(Normal(0., 1.), t.StickBreakingTransform())
d = TransformedDistribution(Normal(torch.zeros(3, 2), 1.), t.StickBreakingTransform()); x =
    d.rsample(); [d, d.base_dist, d.batch_shape, d.event_shape, x, d.log_prob(x), d.support,
    d.expand((2, 3)).base_dist, d.expand((2, 3)).sample((4,)).shape]
d = TransformedDistribution(Normal(torch.zeros(3, 2), 1.), [t.StickBreakingTransform(),
    t.AffineTransform(0., 2.)]); [d.support, d.log_prob(d.sample())]
d = TransformedDistribution(Normal(0., 1.), [t.AffineTransform(torch.zeros(3), 2.)]);
    [d.base_dist, d.batch_shape, d.sample()]
d = TransformedDistribution(Normal(torch.zeros(4, 6), 1.), [t.ReshapeTransform((6,), (2, 3))]); x
    = d.rsample(); [d.base_dist, d.batch_shape, d.event_shape, x, d.log_prob(x), d.expand((2,
    4)).batch_shape]
d = TransformedDistribution(Normal(torch.zeros(4), 1.), []); [d, d.support,
    d.log_prob(torch.ones(4)), d.batch_shape]
d = TransformedDistribution(Independent(Normal(torch.zeros(4), 1.), 1), [t.ExpTransform()]); [d,
    d.support, d.log_prob(torch.ones(4)), d.batch_shape, d.event_shape]
d = TransformedDistribution(Independent(Normal(torch.zeros(4), 1.), 1), [t.ExpTransform()]);
    d.log_prob(-torch.ones(4))
d = TransformedDistribution(Independent(Normal(torch.zeros(4), 1.), 1), [t.ExpTransform()]);
    d.log_prob(torch.ones(3))
d = TransformedDistribution(Normal(torch.zeros(4), 1.), [t.AbsTransform()]); d.cdf(torch.ones(4))
d = TransformedDistribution(Normal(torch.zeros(4), 1.), [t.ExpTransform(cache_size=1)]); x =
    d.rsample(); [d.log_prob(x), d.transforms[0].inv(x) is d.transforms[0]._cached_x_y[0]]
d = TransformedDistribution(Uniform(leaf(0.), leaf(1.)), [t.SigmoidTransform().inv,
    t.AffineTransform(leaf(1.), leaf(2.))]); x = d.rsample((5,)); [x, d.log_prob(x), d.cdf(x),
    d.icdf(d.cdf(x))]
d = TransformedDistribution(Normal(torch.zeros(2), 1.), [t.PowerTransform(torch.tensor([-1.,
    2.]))], validate_args=False); [d.cdf(torch.tensor([1., 2.])), d.icdf(torch.tensor([0.6,
    0.7]))]
[TransformedDistribution.support.is_discrete, TransformedDistribution.arg_constraints]
d = copied(TransformedDistribution(Normal(torch.zeros(2), 1.), t.ExpTransform())); [d, pickled(d),
    saved(d).sample()]
"""

MIXTURES = r"""
w = leaf(0.2, 0.8); l = leaf(0., 3.); d = MixtureSameFamily(Categorical(w), Normal(l, 1.)); x =
    leaf(0.5, 2.); [d, d.mean, d.variance, d.stddev, d.log_prob(x), grads(d.log_prob(x), w, l, x),
    d.cdf(x), grads(d.variance, w, l), d.sample((5,)), d.support, d.has_rsample, d.batch_shape,
    d.event_shape]
d = MixtureSameFamily(Categorical(torch.ones(3, 4)),
    Independent(Normal(torch.arange(24.).reshape(3, 4, 2), 1.), 1)); [d, d.batch_shape,
    d.event_shape, d.mean, d.variance, d.sample((2,)), d.log_prob(torch.ones(2, 3, 2)), d.support,
    d.expand((5, 3)).batch_shape, d.expand((5, 3)).sample()]
d = MixtureSameFamily(Categorical(torch.ones(4)), Independent(Normal(torch.arange(24.).reshape(3,
    4, 2), 1.), 1)); [d.mean, d.log_prob(torch.ones(3, 2)), d.variance]
MixtureSameFamily(Normal(0., 1.), Normal(torch.zeros(2), 1.))
MixtureSameFamily(Categorical(torch.ones(2)), 3)
MixtureSameFamily(Categorical(torch.ones(3)), Normal(torch.zeros(2), 1.))
MixtureSameFamily(Categorical(torch.ones(5, 2)), Normal(torch.zeros(4, 2), 1.))
MixtureSameFamily(Categorical(torch.ones(2)), Normal(torch.zeros(2), 1.)).rsample()
MixtureSameFamily(Categorical(torch.ones(2)), Normal(torch.zeros(2), 1.)).entropy()
d = MixtureSameFamily(Categorical(torch.ones(2)), Exponential(torch.ones(2)));
    d.log_prob(torch.tensor([-1.]))
d = MixtureSameFamily(Categorical(torch.ones(2)), Normal(torch.zeros(2), 1.)); [copied(d),
    pickled(d), saved(d), d.mixture_distribution, d.component_distribution]
"""

DIVERGENCES = r"""
kl_divergence(3, 4)
A = type("A", (Normal,), {}); B = type("B", (Cauchy,), {}); kl_divergence(A(0., 1.), B(0., 1.))
A = type("A", (Distribution,), {"arg_constraints": {}}); B = type("B", (A,), {}); register_kl(A,
    B)(lambda p, q: 1); register_kl(B, A)(lambda p, q: 2); [kl_divergence(B(), B()),
    kl_divergence(A(), B()), kl_divergence(B(), A())]
A = type("A", (Distribution,), {"arg_constraints": {}}); B = type("B", (A,), {}); register_kl(A,
    B)(lambda p, q: 1); register_kl(A, A)(lambda p, q: 2); [kl_divergence(B(), B()),
    kl_divergence(A(), A())]
A = type("A", (Distribution,), {"arg_constraints": {}}); B = type("B", (A,), {}); f =
    register_kl(A, A)(lambda p, q: 1); x = kl_divergence(B(), B()); g = register_kl(B, B)(lambda
    p, q: 2); [x, kl_divergence(B(), B())]
register_kl(3, Normal)
register_kl(Normal, 3)
kl_divergence(Normal(0., 1.), Normal(leaf(1.), 2.))
kl_divergence(Independent(Normal(torch.zeros(2), 1.), 1), Independent(Normal(torch.ones(2), 1.),
    1))
"""


@pytest.mark.parametrize("program", programs(BASE))
def test_the_base_is_that_of_torch(program):
    assert_agree(program)


@pytest.mark.parametrize("program", programs(FUNCTIONS))
def test_transformed_functions_and_lazy_values_are_those_of_torch(program):
    assert_agree(program)


@pytest.mark.parametrize("program", programs(INDEPENDENT))
def test_independent_is_that_of_torch(program):
    assert_agree(program)


@pytest.mark.parametrize("program", programs(TRANSFORMED))
def test_transformed_distributions_are_those_of_torch(program):
    assert_agree(program)


@pytest.mark.parametrize("program", programs(MIXTURES))
def test_mixtures_are_those_of_torch(program):
    assert_agree(program)


@pytest.mark.parametrize("program", programs(DIVERGENCES))
def test_divergences_are_found_as_in_torch(program):
    assert_agree(program)


CLASSES = [
    n for n in torch.distributions.__all__ if isinstance(getattr(impl.distributions, n), type)
]


def parameters(function) -> list[tuple]:
    """The names, kinds and defaults of a function's parameters."""
    found = inspect.signature(function).parameters.values()
    return [(p.name, p.kind, str(p.default).replace("impl.", "torch.")) for p in found]


@pytest.mark.parametrize("name", CLASSES)
def test_signatures_and_modules_are_those_of_torch(name):
    theirs, ours = getattr(torch.distributions, name), getattr(impl.distributions, name)
    public = {
        method
        for method, function in inspect.getmembers(theirs, inspect.isfunction)
        if not method.startswith("_") or method == "__init__"
    }
    for method in sorted(public):
        expected, got = (parameters(getattr(kind, method)) for kind in (theirs, ours))
        assert got == expected, f"{name}.{method}"
    assert ours.__module__.replace("impl.", "torch.") == theirs.__module__


def test_names_are_those_of_torch():
    assert sorted(impl.distributions.__all__) == sorted(torch.distributions.__all__)
    for module in pkgutil.iter_modules(torch.distributions.__path__):
        theirs = importlib.import_module(f"torch.distributions.{module.name}")
        ours = importlib.import_module(f"impl.distributions.{module.name}")
        assert set(theirs.__all__) <= set(vars(ours)), module.name
