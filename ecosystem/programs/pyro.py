"""pyro: probabilistic programs, their inference, and its flows."""

import pyro
import pyro.distributions as dist
import pyro.poutine as poutine
import torch
from pyro.contrib import gp
from pyro.infer import MCMC, NUTS, SVI, Predictive, Trace_ELBO, TraceEnum_ELBO, TraceGraph_ELBO
from pyro.infer.autoguide import AutoDiagonalNormal, AutoLowRankMultivariateNormal, AutoNormal
from pyro.nn import PyroModule, PyroParam, PyroSample
from torch.distributions import constraints


def text(value):
    return torch.tensor(list(repr(value).encode()))


def regression(x, y=None):
    weight = pyro.sample("weight", dist.Normal(torch.zeros(2), 1.0).to_event(1))[..., None, :]
    scale = pyro.sample("scale", dist.LogNormal(0.0, 1.0))[..., None]
    with pyro.plate("data", len(x)):
        return pyro.sample("y", dist.Normal((x * weight).sum(-1), scale), obs=y)


def data():
    x = torch.randn(8, 2)
    return x, x @ torch.tensor([1.0, -2.0]) + 0.1 * torch.randn(8)


def parameters():
    return [value.detach() for _, value in sorted(pyro.get_param_store().items())]


def trained(guide, loss, optimizer=None, model=regression, steps=4):
    pyro.clear_param_store()
    x, y = data()
    svi = SVI(model, guide, optimizer or pyro.optim.Adam({"lr": 0.05}), loss)
    return torch.tensor([svi.step(x, y) for _ in range(steps)]), *parameters()


def case_diagonal_guide():
    return trained(AutoDiagonalNormal(regression), Trace_ELBO(num_particles=2))


def case_low_rank_guide():
    optimizer = pyro.optim.ClippedAdam({"lr": 0.05, "clip_norm": 1.0, "lrd": 0.9})
    return trained(AutoLowRankMultivariateNormal(regression, rank=1), Trace_ELBO(), optimizer)


def case_vectorized_particles():
    loss = Trace_ELBO(num_particles=3, vectorize_particles=True, max_plate_nesting=1)
    return trained(AutoNormal(regression), loss, pyro.optim.AdagradRMSProp({"eta": 0.1}))


def mixture(data):
    weights = pyro.param("weights", torch.ones(2) / 2, constraint=constraints.simplex)
    locs = pyro.param("locs", torch.tensor([-1.0, 1.0]))
    with pyro.plate("data", len(data)):
        kind = pyro.sample("kind", dist.Categorical(weights), infer={"enumerate": "parallel"})
        pyro.sample("x", dist.Normal(locs[kind], 0.5), obs=data)


def case_enumeration():
    pyro.clear_param_store()
    x = torch.randn(6)
    loss = TraceEnum_ELBO(max_plate_nesting=1)
    svi = SVI(mixture, lambda data: None, pyro.optim.Adam({"lr": 0.1}), loss)
    losses = [svi.step(x) for _ in range(3)]
    marginals = loss.compute_marginals(mixture, lambda data: None, x)
    return torch.tensor(losses), marginals["kind"].logits, *parameters()


def case_score_function():
    def model(x, y):
        with pyro.plate("data", len(x)):
            kind = pyro.sample("kind", dist.Bernoulli(0.3))
            pyro.sample("y", dist.Normal(kind, 1.0), obs=y)

    def guide(x, y):
        logits = pyro.param("logits", torch.zeros(len(x)))
        with pyro.plate("data", len(x)):
            pyro.sample(
                "kind",
                dist.Bernoulli(logits=logits),
                infer={"baseline": {"use_decaying_avg_baseline": True}},
            )

    return trained(guide, TraceGraph_ELBO(), model=model)


def case_nuts():
    pyro.clear_param_store()
    x, y = data()
    kernel = NUTS(regression, step_size=0.1, max_tree_depth=3)
    sampler = MCMC(kernel, num_samples=4, warmup_steps=4, disable_progbar=True)
    sampler.run(x, y)
    samples = sampler.get_samples()
    predicted = Predictive(regression, samples)(x)
    return samples["weight"], samples["scale"], predicted["y"]


class Bayesian(PyroModule):
    def __init__(self):
        super().__init__()
        self.layer = PyroModule[torch.nn.Linear](2, 3)
        self.layer.weight = PyroSample(dist.Normal(0.0, 1.0).expand([3, 2]).to_event(2))
        self.scale = PyroParam(torch.tensor(0.5), constraints.positive)

    def forward(self, x):
        return pyro.sample("y", dist.Normal(torch.tanh(self.layer(x)), self.scale).to_event(2))


def case_modules():
    pyro.clear_param_store()
    model = Bayesian()
    trace = poutine.trace(model).get_trace(torch.randn(4, 2))
    trace.compute_log_prob()
    log_prob = trace.log_prob_sum()
    log_prob.backward()
    grads = [p.grad for p in model.parameters()]
    return log_prob, *grads, text(model), text(sorted(model.state_dict()))


def case_flows():
    values = []
    for name in (
        "affine_autoregressive",
        "spline",
        "planar",
        "radial",
        "sylvester",
        "householder",
        "affine_coupling",
        "polynomial",
        "spline_autoregressive",
        "batchnorm",
        "elu",
        "leaky_relu",
        "permute",
        "generalized_channel_permute",
    ):
        kind = getattr(dist.transforms, name)
        channels = name == "generalized_channel_permute"
        flow = (
            kind(channels=3)
            if channels
            else kind(4)
            if name not in ("elu", "leaky_relu")
            else kind()
        )
        x = torch.randn(2, 3, 2, 2) if channels else torch.randn(5, 4)
        x.requires_grad_()
        y = flow(x)
        change = flow.log_abs_det_jacobian(x, y)
        (y.sum() + change.sum()).backward()
        values += [y, change, x.grad]
    return values


def case_distributions():
    values = []
    for made in (
        dist.Delta(torch.tensor([1.0, 2.0]), event_dim=1),
        dist.AVFMultivariateNormal(torch.zeros(2), torch.eye(2), 0.1 * torch.randn(2, 4, 2)),
        dist.MixtureOfDiagNormals(torch.randn(3, 2), torch.rand(3, 2) + 0.5, torch.zeros(3)),
        dist.GaussianScaleMixture(torch.rand(2) + 0.5, torch.zeros(3), torch.rand(3) + 0.5),
        dist.BetaBinomial(torch.tensor(2.0), torch.tensor(3.0), 7),
        dist.GammaPoisson(torch.tensor(2.0), torch.tensor(3.0)),
        dist.ZeroInflatedPoisson(torch.tensor(2.0), gate=torch.tensor(0.3)),
        dist.ZeroInflatedNegativeBinomial(3, gate=torch.tensor(0.3), probs=torch.tensor(0.4)),
        dist.SoftLaplace(torch.tensor(0.5), torch.tensor(2.0)),
        dist.AsymmetricLaplace(0.0, 1.0, torch.tensor(2.0)),
        dist.Logistic(torch.tensor(0.1), torch.tensor(2.0)),
        dist.SkewLogistic(torch.tensor(0.1), torch.tensor(2.0), torch.tensor(0.7)),
        dist.ProjectedNormal(torch.tensor([1.0, 2.0, 0.5])),
        dist.Stable(1.5, 0.2, torch.tensor(1.0), 0.3),
        dist.OrderedLogistic(torch.tensor(0.3), torch.tensor([-1.0, 0.0, 1.0])),
        dist.LKJ(3, torch.tensor(1.5)),
        dist.InverseGamma(torch.tensor(2.0), torch.tensor(3.0)),
    ):
        x = made.rsample() if made.has_rsample else made.sample()
        values += [x, text(made)]
        if not isinstance(made, (dist.Stable, dist.AVFMultivariateNormal)):
            values.append(made.log_prob(x))
    return values


def case_hidden_markov():
    initial, transition = torch.randn(3, requires_grad=True), torch.randn(4, 3, 3)
    observed = dist.Normal(torch.randn(4, 3), 1.0)
    chain = dist.DiscreteHMM(initial, transition, observed, duration=4)
    linear = dist.GaussianHMM(
        dist.MultivariateNormal(torch.zeros(2), torch.eye(2)),
        torch.eye(2) * 0.9,
        dist.MultivariateNormal(torch.zeros(2), 0.1 * torch.eye(2)),
        torch.ones(2, 1),
        dist.MultivariateNormal(torch.zeros(1), torch.eye(1)),
        duration=4,
    )
    first, second = chain.log_prob(torch.randn(4)), linear.log_prob(torch.randn(4, 1))
    (grad,) = torch.autograd.grad(first, initial)
    return first, grad, second, linear.filter(torch.randn(4, 1)).loc, linear.rsample()


def case_gaussian_process():
    pyro.clear_param_store()
    x = torch.linspace(0, 1, 7)
    kernel = gp.kernels.Sum(gp.kernels.RBF(1), gp.kernels.Matern52(1))
    model = gp.models.SparseGPRegression(x, torch.sin(6 * x), kernel, x[::3].clone(), jitter=1e-4)
    losses = gp.util.train(model, num_steps=3)
    mean, variance = model(x[:2] + 0.05)
    return torch.tensor(losses), mean, variance, *[p.grad for p in model.parameters()]


def case_handlers():
    pyro.clear_param_store()
    x, y = data()
    conditioned = poutine.condition(regression, {"weight": torch.tensor([1.0, -1.0])})
    trace = poutine.trace(poutine.seed(poutine.scale(conditioned, 0.5), 3)).get_trace(x, y)
    drawn = poutine.trace(regression).get_trace(x)
    replayed = poutine.trace(poutine.replay(regression, drawn)).get_trace(x)
    blocked = poutine.trace(poutine.block(regression, hide=["scale"])).get_trace(x)
    trace.compute_log_prob()
    return (
        trace.log_prob_sum(),
        replayed.log_prob_sum(),
        text(list(blocked.nodes)),
        text(trace.format_shapes()),
    )
