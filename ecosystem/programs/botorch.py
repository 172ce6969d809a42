"""botorch: models of a function, acquisition functions, and their optimisation."""

import botorch
import torch
from botorch.acquisition import (
    ExpectedImprovement,
    LogExpectedImprovement,
    PosteriorMean,
    UpperConfidenceBound,
    qExpectedImprovement,
    qKnowledgeGradient,
    qLogExpectedImprovement,
    qNoisyExpectedImprovement,
    qSimpleRegret,
    qUpperConfidenceBound,
)
from botorch.acquisition.multi_objective import qLogExpectedHypervolumeImprovement
from botorch.fit import fit_gpytorch_mll
from botorch.models import (
    KroneckerMultiTaskGP,
    MixedSingleTaskGP,
    ModelListGP,
    MultiTaskGP,
    SingleTaskGP,
)
from botorch.models.transforms import Normalize, Standardize
from botorch.optim import optimize_acqf
from botorch.sampling import IIDNormalSampler, SobolQMCNormalSampler
from botorch.utils.multi_objective.box_decompositions import FastNondominatedPartitioning
from botorch.utils.multi_objective.pareto import is_non_dominated
from gpytorch.mlls import ExactMarginalLogLikelihood, SumMarginalLogLikelihood


def text(value):
    return torch.tensor(list(repr(value).encode()))


def data(n=7, d=2, m=1):
    x = torch.rand(n, d)
    y = torch.stack([torch.sin((i + 3) * x).sum(-1) for i in range(m)], -1)
    return x, y


def model():
    return SingleTaskGP(*data(), input_transform=Normalize(2), outcome_transform=Standardize(1))


def case_posterior():
    made = model()
    x = torch.rand(3, 2, requires_grad=True)
    posterior = made.posterior(x)
    values = posterior.mean, posterior.variance, posterior.rsample(torch.Size([2]))
    return *values, *torch.autograd.grad(sum(v.sum() for v in values), x), text(made)


def case_fit():
    made = model()
    mll = ExactMarginalLogLikelihood(made.likelihood, made)
    fit_gpytorch_mll(mll, optimizer_kwargs={"options": {"maxiter": 5}})
    return [p.detach() for p in made.parameters()]


def acquired(make, q=1):
    x = torch.rand(3, q, 2, requires_grad=True)
    value = make(model())(x)
    return value, *torch.autograd.grad(value.sum(), x)


def case_analytic():
    found = []
    for make in (
        lambda m: ExpectedImprovement(m, best_f=0.3),
        lambda m: LogExpectedImprovement(m, best_f=0.3),
        lambda m: UpperConfidenceBound(m, beta=0.2),
        lambda m: PosteriorMean(m),
    ):
        found += acquired(make)
    return found


def case_sampled():
    sampler = SobolQMCNormalSampler(torch.Size([8]), seed=1)
    found = []
    for make in (
        lambda m: qExpectedImprovement(m, best_f=0.3, sampler=sampler),
        lambda m: qLogExpectedImprovement(m, best_f=0.3, sampler=sampler),
        lambda m: qNoisyExpectedImprovement(m, torch.rand(4, 2), sampler=sampler),
        lambda m: qUpperConfidenceBound(m, beta=0.2, sampler=sampler),
        lambda m: qSimpleRegret(m, sampler=IIDNormalSampler(torch.Size([8]), seed=1)),
    ):
        found += acquired(make, q=2)
    return found


def case_knowledge_gradient():
    acquisition = qKnowledgeGradient(model(), num_fantasies=2)
    x = torch.rand(2, 3, 2, requires_grad=True)
    value = acquisition(x)
    return value, *torch.autograd.grad(value.sum(), x)


def case_optimised():
    found = optimize_acqf(
        LogExpectedImprovement(model(), best_f=0.3),
        torch.tensor([[0.0, 0.0], [1.0, 1.0]]),
        q=1,
        num_restarts=2,
        raw_samples=8,
        options={"maxiter": 4, "seed": 1},
    )
    return found


def case_objectives():
    x, y = data(m=2)
    made = ModelListGP(SingleTaskGP(x, y[:, :1]), SingleTaskGP(x, y[:, 1:]))
    mll = SumMarginalLogLikelihood(made.likelihood, made)
    loss = -mll(made(*made.train_inputs), made.train_targets)
    loss.backward()
    reference = torch.tensor([-2.0, -2.0])
    boxes = FastNondominatedPartitioning(reference, y)
    acquisition = qLogExpectedHypervolumeImprovement(
        made, reference, boxes, sampler=SobolQMCNormalSampler(torch.Size([4]), seed=1)
    )
    at = torch.rand(2, 2, 2, requires_grad=True)
    value = acquisition(at)
    grads = [p.grad for p in made.parameters() if p.grad is not None]
    return (
        value,
        *torch.autograd.grad(value.sum(), at),
        loss,
        *grads,
        boxes.compute_hypervolume(),
        is_non_dominated(y),
    )


def case_tasks():
    x, y = data(m=2)
    long = torch.cat([torch.cat([x, torch.full((7, 1), float(i))], -1) for i in range(2)])
    made = MultiTaskGP(long, y.T.reshape(-1, 1), task_feature=-1)
    other = KroneckerMultiTaskGP(x, y)
    mixed = MixedSingleTaskGP(
        torch.cat([x, torch.randint(0, 2, (7, 1)) * 1.0], -1), y[:, :1], cat_dims=[-1]
    )
    return (
        made.posterior(x[:2]).mean,
        other.posterior(x[:2]).mean,
        other.posterior(x[:2]).variance,
        mixed.posterior(torch.cat([x[:2], torch.ones(2, 1)], -1)).mean,
    )


def case_sampling():
    sobol = botorch.utils.sampling.draw_sobol_samples(
        torch.tensor([[0.0, 1.0], [1.0, 3.0]]), 4, 2, seed=3
    )
    normal = botorch.utils.sampling.draw_sobol_normal_samples(3, 4, seed=3)
    sphere = botorch.utils.sampling.sample_hypersphere(3, 4, qmc=False, seed=3)
    simplex = botorch.utils.sampling.sample_simplex(3, 4, qmc=True, seed=3)
    return sobol, normal, sphere, simplex


def case_transforms():
    x, _y = data()
    made = model()
    made.posterior(x[:2])
    conditioned = made.condition_on_observations(torch.rand(2, 2), torch.rand(2, 1))
    fantasy = made.fantasize(torch.rand(1, 2), SobolQMCNormalSampler(torch.Size([2]), seed=1))
    state = made.state_dict()
    other = model()
    other.load_state_dict(state)
    return (
        conditioned.posterior(x[:2]).mean,
        fantasy.posterior(x[:2]).mean,
        other.posterior(x[:2]).mean,
    )
