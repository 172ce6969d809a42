"""impl's multivariate, categorical and relaxed distributions against torch's."""

from __future__ import annotations

import importlib
import inspect

import made_distributions
import numpy as np
import pytest
import torch
from made_distributions import assert_agree

import impl

KINDS = ("float32", "float64")


@pytest.fixture(autouse=True)
def rounding_of_sums(monkeypatch):
    """Sums of terms that cancel have larger relative errors than each of the terms."""
    monkeypatch.setattr(made_distributions, "ULPS", 1024)


@pytest.fixture
def rounding_of_gradients(monkeypatch, rounding_of_sums):
    """Gradients, of float64 all of them, are sums over samples."""
    monkeypatch.setattr(made_distributions, "ULPS", 4096)


DIRICHLET = "a = leaf({}, dtype={!r}); d = Dirichlet(a)"
CATEGORICAL = "a = leaf({}, dtype={!r}); d = {}({}=a)"
NORMAL = "l = leaf({}, dtype={!r}); A = leaf({}, dtype={!r}); d = MultivariateNormal(l, {}=A)"
LOW_RANK = (
    "l = leaf({}, dtype={!r}); A = leaf({}, dtype={!r}); e = leaf(.2, .3, dtype={!r}); "
    "d = LowRankMultivariateNormal(l, A, e)"
)
WISHART = "n = leaf({}, dtype={!r}); A = leaf({}, dtype={!r}); d = Wishart(n, {}=A)"
MATRIX = "[2., .3], [.3, 1.]"
FACTOR = "[[2., 0.], [.3, 1.]], [[1., 0.], [-.3, 2.]]"
MATRICES = "[[2., .3], [.3, 1.]], [[1., .1], [.1, 2.]]"

SHOWN = (
    "[d, d.batch_shape, d.event_shape, d.support, d.arg_constraints, d.has_rsample, "
    "d.has_enumerate_support]"
)
MOMENTS = "[d.mean, d.mode, d.variance, d.stddev, d.entropy()]"
COPIES = (
    "[copied(d), copied(d).mean, pickled(d).log_prob(d.sample()).shape, d.expand((3, 2)), "
    "d.expand((3, 2)).mean, d.expand((3, 2)).sample((2,))]"
)
EXPANDED = "[d.expand((3, 2)).log_prob(d.expand((3, 2)).sample((2,))), d.expand((3, 2)).entropy()]"


def _families(kind: str) -> dict[str, tuple[str, str]]:
    """Programs that make distributions `d`, and the leaves of their parameters."""
    found = {}
    for batch, values in (("one", ".5, 2., 3."), ("batch", "[.5, 2., .3], [.1, .2, .3]")):
        found[f"Dirichlet-{batch}"] = DIRICHLET.format(values, kind), "a"
    for name in ("probs", "logits"):
        for batch, values in (("one", ".5, .2, .3"), ("batch", "[.5, 2., .3], [.1, .2, .3]")):
            made = CATEGORICAL.format(values, kind, "{}", name)
            for family in ("Categorical", "OneHotCategorical", "OneHotCategoricalStraightThrough"):
                found[f"{family}-{name}-{batch}"] = made.replace("{}", family), "a"
            found[f"Multinomial-{name}-{batch}"] = made.replace("{}(", "Multinomial(4, "), "a"
    for name, matrix in (
        ("covariance_matrix", MATRIX),
        ("precision_matrix", MATRICES),
        ("scale_tril", FACTOR),
    ):
        for batch, loc in (("one", ".5, 2."), ("batch", "[.5, 2.], [1., -1.]")):
            made = NORMAL.format(loc, kind, matrix, kind, name)
            found[f"MultivariateNormal-{name}-{batch}"] = made, "l, A"
        for batch, df in (("one", "5."), ("batch", "2.5, 6.")):
            found[f"Wishart-{name}-{batch}"] = WISHART.format(df, kind, matrix, kind, name), "n, A"
    for batch, loc, factor in (
        ("one", ".5, 2.", "[2., .1], [.3, .4]"),
        ("batch", "[.5, 2.], [1., -1.]", "[2., .1], [.3, .4]"),
        ("factors", ".5, 2.", "[[2., .2], [.3, .1]], [[1., .5], [.4, .7]]"),
    ):
        made = LOW_RANK.format(loc, kind, factor, kind, kind)
        found[f"LowRankMultivariateNormal-{batch}"] = made, "l, A, e"
    found["LKJCholesky-one"] = f"a = leaf(1.5, dtype={kind!r}); d = LKJCholesky(3, a)", "a"
    found["LKJCholesky-batch"] = f"a = leaf(1.5, .5, dtype={kind!r}); d = LKJCholesky(4, a)", "a"
    return found


FAMILIES = _families("float64")
PREPARED = [
    (f"{name}-{kind}", made) for kind in KINDS for name, (made, _) in _families(kind).items()
]
made_in_both = pytest.mark.parametrize("made", [made for _, made in PREPARED], ids=dict(PREPARED))
in_float64 = pytest.mark.parametrize(("made", "leaves"), FAMILIES.values(), ids=FAMILIES)


@made_in_both
def test_attributes_and_moments(made):
    assert_agree(f"{made}; {SHOWN}")
    if "LKJ" not in made:
        assert_agree(f"{made}; [d.mean, d.variance, d.stddev]")
    if "Multinomial" not in made and "LKJ" not in made:
        assert_agree(f"{made}; [d.mode]")


@made_in_both
def test_samples_follow_the_stream(made):
    assert_agree(f"{made}; [d.sample(), d.sample((4,)), d.sample((2, 3)), torch.get_rng_state()]")


@pytest.mark.usefixtures("rounding_of_gradients")
@in_float64
def test_gradients_of_samples(made, leaves):
    assert_agree(
        f"{made}; s = d.rsample((4,)); w = torch.arange(s.size(-1)) + 1; "
        f"[s, grads(s * w, {leaves}), d.rsample()]"
    )


@pytest.mark.usefixtures("rounding_of_gradients")
@in_float64
def test_log_probabilities_and_their_gradients(made, leaves):
    assert_agree(
        f"{made}; s = d.sample((4,)); v = s.requires_grad_(s.is_floating_point()); "
        f"p = d.log_prob(v); [p, grads(p, {leaves}), d.log_prob(v[0])]"
    )
    assert_agree(f"{made}; [d.entropy(), grads(d.entropy(), {leaves})]")


@in_float64
def test_copies_and_expansions(made, leaves):
    if "LKJ" in made:
        assert_agree(f"{made}; [copied(d), pickled(d), d.expand((3, 2)).sample((2,))]")
    else:
        assert_agree(f"{made}; {COPIES}")
        assert_agree(f"{made}; {EXPANDED}")


@pytest.mark.parametrize("made", [made for made, _ in FAMILIES.values() if "l, " in made])
@pytest.mark.parametrize("name", ["covariance_matrix", "precision_matrix", "scale_tril"])
def test_matrices(made, name):
    assert_agree(f"{made}; [d.{name}, d.expand((3, 2)).{name}, d.expand((3, 2)).{name}.sum()]")


@pytest.mark.parametrize(
    "program",
    [
        "d = Categorical(torch.ones(3)); [d.enumerate_support(), d.enumerate_support(False)]",
        "d = Categorical(torch.ones(2, 3)); [d.enumerate_support(), d.enumerate_support(False)]",
        "d = OneHotCategorical(torch.ones(2, 3)); [d.enumerate_support(), d.perplexity()]",
        "d = OneHotCategorical(torch.ones(2, 3)); [d.enumerate_support(False), d._param]",
        "d = Categorical(torch.tensor([0., 1.])); [d.entropy(), d.log_prob(torch.tensor([0, 1]))]",
        "d = Categorical(torch.ones(3)); [d._new((2,)).shape, d.param_shape, d.log_prob(d.mode)]",
        "d = Categorical(torch.ones(3)); l = d.logits; d = d.expand((2,)); [d.logits, d._param]",
        "Categorical.support",
        "d = Dirichlet(torch.tensor([.1, .2])); [d.mode, d.perplexity()]",
        "d = Dirichlet(torch.ones(2)); [d.log_prob(torch.tensor([0., 1.]))]",
        "d = Multinomial(3, logits=torch.tensor([-torch.inf, 1.])); "
        "d.log_prob(torch.tensor([[0., 3.], [1., 2.]]))",
        "Multinomial(0, torch.ones(2)).sample()",
        "Wishart(1.5, torch.eye(2)).sample((2,))",
        "Wishart(3., torch.eye(2)).rsample((3,), max_try_correction=2)",
        "d = Wishart(4, torch.eye(2)); [d.df, d.mean, d._natural_params]",
        "d = Wishart(4., torch.eye(2)); d._log_normalizer(*d._natural_params)",
        "d = LKJCholesky(2); s = d.sample(); [s, d.log_prob(s)]",
        "LKJCholesky(2).rsample()",
        "MultivariateNormal(torch.zeros(2), torch.eye(2)).cdf(torch.zeros(2))",
    ],
)
def test_programs(program):
    assert_agree(program)


INVALID = [
    "Dirichlet(torch.tensor(1.))",
    "Dirichlet(torch.tensor([1., -1.]))",
    "Dirichlet(torch.ones(3)).log_prob(torch.ones(3))",
    "Dirichlet(torch.ones(3)).log_prob(torch.ones(2))",
    "Categorical()",
    "Categorical(torch.ones(2), torch.ones(2))",
    "Categorical(torch.tensor(1.))",
    "Categorical(logits=torch.tensor(1.))",
    "Categorical(torch.tensor([-1., 1.]))",
    "Categorical(logits=torch.tensor([torch.nan, 1.]))",
    "Categorical(torch.ones(3)).log_prob(torch.tensor(3))",
    "Categorical(torch.ones(3)).log_prob(torch.tensor(.5))",
    "OneHotCategorical(torch.ones(3)).log_prob(torch.ones(3))",
    "OneHotCategorical(torch.tensor([-1., 1.]))",
    "Multinomial(torch.tensor(3), torch.ones(2))",
    "Multinomial(3, torch.ones(2)).log_prob(torch.tensor([2., 2.]))",
    "Multinomial(3, torch.ones(2)).mode",
    "RelaxedBernoulli(torch.tensor(1.))",
    "RelaxedBernoulli(torch.tensor(1.), 2.)",
    "RelaxedBernoulli(torch.tensor(1.), .5).log_prob(torch.tensor(2.))",
    "RelaxedBernoulli(torch.tensor(1.), .5).mean",
    "RelaxedOneHotCategorical(torch.tensor(1.))",
    "RelaxedOneHotCategorical(torch.tensor(1.), torch.ones(3)).log_prob(torch.ones(3))",
    "MultivariateNormal(torch.tensor(1.), torch.eye(2))",
    "MultivariateNormal(torch.zeros(2))",
    "MultivariateNormal(torch.zeros(2), torch.eye(2), torch.eye(2))",
    "MultivariateNormal(torch.zeros(2), torch.ones(2))",
    "MultivariateNormal(torch.zeros(2), precision_matrix=torch.ones(2))",
    "MultivariateNormal(torch.zeros(2), scale_tril=torch.ones(2))",
    "MultivariateNormal(torch.zeros(2), torch.ones(2, 2))",
    "MultivariateNormal(torch.zeros(2), scale_tril=torch.ones(2, 2))",
    "MultivariateNormal(torch.zeros(2), precision_matrix=-torch.eye(2))",
    "MultivariateNormal(torch.zeros(2), -torch.eye(2), validate_args=False)",
    "MultivariateNormal(torch.zeros(3, 2), torch.eye(2).expand(2, 2, 2))",
    "MultivariateNormal(torch.zeros(2), torch.eye(3))",
    "MultivariateNormal(torch.zeros(2), torch.eye(2)).log_prob(torch.zeros(3))",
    "MultivariateNormal(torch.zeros(2), torch.eye(2)).log_prob(torch.tensor([0., torch.nan]))",
    "LowRankMultivariateNormal(torch.tensor(1.), torch.ones(1, 1), torch.ones(1))",
    "LowRankMultivariateNormal(torch.ones(2), torch.ones(2), torch.ones(2))",
    "LowRankMultivariateNormal(torch.ones(2), torch.ones(3, 1), torch.ones(2))",
    "LowRankMultivariateNormal(torch.ones(2), torch.ones(2, 1), torch.ones(3))",
    "LowRankMultivariateNormal(torch.ones(3, 2), torch.ones(2, 2, 1), torch.ones(2))",
    "LowRankMultivariateNormal(torch.ones(2), torch.ones(2, 1), -.5 * torch.ones(2))",
    "LowRankMultivariateNormal(torch.ones(2), torch.ones(2, 1), -5. * torch.ones(2))",
    "Wishart(1., torch.eye(2))",
    "Wishart(torch.tensor([1., 3.]), torch.eye(2))",
    "Wishart(3.)",
    "Wishart(3., torch.ones(2))",
    "Wishart(3., -torch.eye(2))",
    "Wishart(3., scale_tril=torch.ones(2, 2))",
    "Wishart(3., torch.eye(2)).log_prob(-torch.ones(2, 2))",
    "LKJCholesky(1)",
    "LKJCholesky(3, -1.)",
    "LKJCholesky(2).log_prob(torch.ones(2, 2))",
    "LKJCholesky(2).mean",
]


@pytest.mark.parametrize("program", INVALID)
def test_invalid_parameters_and_values(program):
    assert_agree(program)


@pytest.mark.parametrize(
    "program",
    [
        "Dirichlet(torch.tensor([1., -1.]), validate_args=False)",
        "Categorical(torch.tensor([-1., 1.5]), validate_args=False).probs",
        "Categorical(torch.ones(3), validate_args=False).log_prob(torch.tensor(2.5))",
        "MultivariateNormal(torch.tensor([torch.nan]), torch.eye(1), validate_args=False)",
        "LKJCholesky(3, -1., validate_args=False)",
    ],
)
def test_parameters_that_are_not_validated(program):
    assert_agree(program)


RELAXED = {
    "RelaxedBernoulli": "RelaxedBernoulli(t, {}=leaf(.2, .5))",
    "RelaxedBernoulli of a number": "RelaxedBernoulli(t, {}=.3)",
    "LogitRelaxedBernoulli": "D.relaxed_bernoulli.LogitRelaxedBernoulli(t, {}=leaf(.2, .5))",
    "RelaxedOneHotCategorical": "RelaxedOneHotCategorical(t, {}=leaf([.2, .5], [1., 2.]))",
    "ExpRelaxedCategorical": "D.relaxed_categorical.ExpRelaxedCategorical(t, {}=leaf(.2, .5, .8))",
}


@pytest.mark.parametrize("made", RELAXED.values(), ids=RELAXED)
@pytest.mark.parametrize("name", ["probs", "logits"])
def test_relaxed_distributions(made, name):
    kind = "float64" if "leaf" in made else "float32"  # a number is of the default dtype
    made = f"t = leaf(.7, dtype={kind!r}); d = {made.format(name)}"
    assert_agree(f"{made}; {SHOWN}")
    assert_agree(f"{made}; [d.probs, d.logits, d.temperature, d.rsample((2,)), d.sample()]")
    assert_agree(
        f"{made}; s = d.rsample((5,)); v = s.detach().requires_grad_(); p = d.log_prob(v); "
        "w = torch.arange(s.size(-1)); [s, grads(s * w, t), p, grads(p, t, v)]"
    )
    assert_agree(f"{made}; d = d.expand((3, 2)); s = d.rsample((2,)); [d, s, d.log_prob(s)]")


def test_samples_of_a_straight_through_estimator_have_the_gradient_of_the_probabilities():
    assert_agree(
        "a = leaf(.2, .5, .8); d = OneHotCategoricalStraightThrough(a); s = d.rsample((5,)); "
        "[s, grads(s * torch.arange(3.), a)]"
    )


def test_operations_on_batches_of_parameters():
    assert_agree(
        "m = D.multivariate_normal; L = torch.rand(3, 1, 2, 2).tril() + torch.eye(2); "
        "x = torch.rand(5, 3, 4, 2); "
        "[m._batch_mahalanobis(L, x), m._batch_mahalanobis(L[0, 0], x), m._batch_mv(L, x), "
        "m._precision_to_scale_tril(L @ L.mT)]"
    )


FAMILY_NAMES = sorted(
    {name.split("-")[0] for name in FAMILIES} | {*RELAXED} - {"RelaxedBernoulli of a number"}
)


@pytest.mark.parametrize("name", FAMILY_NAMES)
def test_signatures_and_class_attributes(name):
    modules = {
        "LogitRelaxedBernoulli": "relaxed_bernoulli",
        "ExpRelaxedCategorical": "relaxed_categorical",
    }
    made = []
    for library in (torch, impl):
        module = importlib.import_module(f"{library.__name__}.distributions")
        family = getattr(getattr(module, modules[name]) if name in modules else module, name)
        public = [member for member in dir(family) if not member.startswith("_")]
        parameters = {
            member: [
                (p.name, str(p.default) if p.default is not p.empty else p.empty, p.kind)
                for p in inspect.signature(getattr(family, member)).parameters.values()
            ]
            for member in (
                "__init__",
                "expand",
                "sample",
                "rsample",
                "log_prob",
                "enumerate_support",
            )
        }
        home = family.__module__.replace(library.__name__, "", 1)
        made.append((public, parameters, home, family.has_rsample, family.has_enumerate_support))
    assert made[0] == made[1]


# -- the operators of Dirichlet samples ----------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("bounds", [(-3, 0.5), (0, 2), (1, 4), (-6, 6)])
def test_derivatives_of_dirichlet_samples(kind, bounds):
    """In all regions of the approximation."""
    torch.manual_seed(1)
    dtype = getattr(torch, kind)
    alpha, beta = (torch.empty(400, dtype=dtype).uniform_(*bounds).exp() for _ in range(2))
    x = torch.distributions.Beta(alpha, beta).sample().clamp(1e-30, 1 - 1e-7)
    operands = (x, alpha, alpha + beta)
    expected = torch._dirichlet_grad(*operands).numpy()
    found = impl._dirichlet_grad(*(impl.tensor(v.numpy()) for v in operands)).numpy()
    tolerance = 16 * np.finfo(expected.dtype).eps
    np.testing.assert_allclose(found, expected, rtol=tolerance)


@pytest.mark.parametrize(
    "program",
    [
        "e = torch.tensor([0., 1., .5, 0., 1., .3, torch.nan, .2]); "
        "a = torch.tensor([1., 1., 0., 0., 2., -.5, 1., torch.inf]); "
        "b = torch.tensor([2., 2., 1., 0., 1., 2., 3., torch.inf]); torch._dirichlet_grad(e, a, b)",
        "torch._dirichlet_grad(leaf(.5, .2), leaf(1., 2.), leaf(3., 3.))",
        "x = leaf(.5, .2); grads(torch._dirichlet_grad(x, x, x + 1), x)",
        "torch._dirichlet_grad(torch.ones(3), torch.ones(2), torch.ones(3))",
        "torch._dirichlet_grad(torch.ones(3), torch.ones(3).double(), torch.ones(3))",
        "x = torch.ones(3).half(); torch._dirichlet_grad(x, x, x)",
        "x = torch.ones(3, device='meta'); torch._dirichlet_grad(x, x, x)",
        "x = torch.rand(2, 3).t(); torch._dirichlet_grad(x, x + 1, x + 2)",
        "torch._sample_dirichlet(leaf(1., 2., 3.))",
        "torch._sample_dirichlet(leaf([.01, 2., 3.], [1., .5, 400.], dtype='float32'))",
        "torch._sample_dirichlet(torch.ones(2, 3, 4).transpose(0, 2))",
        "torch._sample_dirichlet(torch.ones(1, 3).expand(4, 3))",
        "torch._sample_dirichlet(torch.tensor([0., 0.]))",
        "torch._sample_dirichlet(torch.tensor([1e-30, 1.]))",
        "torch._sample_dirichlet(torch.tensor(2.))",
        "torch._sample_dirichlet(torch.zeros(2, 0))",
        "torch._sample_dirichlet(torch.ones(3), torch.Generator().manual_seed(3))",
        "x = leaf(1., 2.); grads(torch._sample_dirichlet(x), x)",
        "torch._sample_dirichlet(torch.tensor([1, 2]))",
        "torch._sample_dirichlet(torch.ones(2, device='meta'))",
        "torch._sample_dirichlet([1.])",
        "torch.func.vmap(torch._sample_dirichlet, randomness='different')(torch.ones(2, 3))",
        "torch.func.vmap(torch._sample_dirichlet, randomness='same')(torch.ones(2, 3))",
    ],
)
def test_operators_of_dirichlet_samples(program):
    assert_agree(program)
