"""POT: optimal transport, and its gradients."""

import ot
import torch


def clouds(n=6, m=5, d=2):
    return (
        torch.randn(n, d, requires_grad=True),
        torch.randn(m, d),
        ot.unif(n, type_as=torch.ones(1)),
        ot.unif(m, type_as=torch.ones(1)),
    )


def with_gradients(value, *inputs):
    return value, *torch.autograd.grad(value, inputs, retain_graph=True)


def case_exact():
    x, y, a, b = clouds()
    a.requires_grad_()
    return *with_gradients(ot.emd2(a, b, ot.dist(x, y)), x, a), ot.emd(a, b, ot.dist(x, y))


def case_entropic():
    x, y, a, b = clouds()
    values = []
    for method in ("sinkhorn", "sinkhorn_log", "sinkhorn_stabilized"):
        values.append(ot.sinkhorn(a, b, ot.dist(x, y), 1.0, method=method, numItermax=20))
    values.append(ot.bregman.empirical_sinkhorn_divergence(x, y, 1.0, numIterMax=20))
    return *values, *torch.autograd.grad(sum(value.square().sum() for value in values), x)


def case_unbalanced():
    x, y, a, b = clouds()
    cost = ot.dist(x, y)
    values = [
        ot.unbalanced.sinkhorn_unbalanced(a, b, cost, 1.0, 0.7, numItermax=20),
        ot.unbalanced.sinkhorn_unbalanced2(a, b, cost, 1.0, 0.7, numItermax=20),
        ot.unbalanced.mm_unbalanced(a, b, cost, 0.7, div="kl", numItermax=20),
        ot.partial.entropic_partial_wasserstein(a, b, cost, 1.0, m=0.5, numItermax=20),
    ]
    return *values, *torch.autograd.grad(sum(value.sum() for value in values), x)


def case_lines():
    x, y = torch.randn(7, requires_grad=True), torch.randn(5)
    values = ot.wasserstein_1d(x, y, p=2), ot.emd2_1d(x, y), ot.wasserstein_circle(x, y)
    return *values, *torch.autograd.grad(sum(value.sum() for value in values), x)


def case_sliced():
    x, y, _a, _b = clouds(6, 6)
    values = [
        ot.sliced_wasserstein_distance(x, y, n_projections=7, seed=1),
        ot.max_sliced_wasserstein_distance(x, y, n_projections=7, seed=1),
        ot.sliced.sliced_wasserstein_sphere(
            torch.nn.functional.normalize(x),
            torch.nn.functional.normalize(y),
            n_projections=5,
            seed=1,
        ),
    ]
    return *values, *torch.autograd.grad(sum(values), x)


def case_gromov():
    x, y, a, b = clouds()
    first, second = ot.dist(x, x), ot.dist(y, y)
    value = ot.gromov.gromov_wasserstein2(first, second, a, b, max_iter=10)
    fused = ot.gromov.fused_gromov_wasserstein2(ot.dist(x, y), first, second, a, b, max_iter=10)
    return *with_gradients(value, x), *with_gradients(fused, x)


def case_gaussians():
    x, y, _, _ = clouds(9, 8)
    value = ot.gaussian.empirical_bures_wasserstein_distance(x, y)
    A, b = ot.gaussian.empirical_bures_wasserstein_mapping(x, y)
    return *with_gradients(value, x), A, b


def case_barycenters():
    a = torch.rand(5, 3)
    a = a / a.sum(0)
    cost = ot.dist(torch.arange(5.0)[:, None], torch.arange(5.0)[:, None])
    places = [torch.randn(4, 2), torch.randn(5, 2)]
    free = ot.lp.free_support_barycenter(
        places, [torch.ones(4) / 4, torch.ones(5) / 5], torch.randn(3, 2), numItermax=5
    )
    return ot.barycenter(a, cost, 0.5, numItermax=20), free


def case_solvers():
    x, y, a, b = clouds()
    values = []
    for options in (
        {},
        {"reg": 1.0},
        {"reg": 1.0, "unbalanced": 0.5},
        {"reg": 1.0, "reg_type": "L2"},
    ):
        found = ot.solve(ot.dist(x, y), a, b, max_iter=20, **options)
        values += [found.value, found.plan]
    sample = ot.solve_sample(x, y, a, b, reg=1.0, max_iter=20)
    values += [sample.value, sample.value_linear]
    return *values, *torch.autograd.grad(sum(value.sum() for value in values), x)


def case_domain_adaptation():
    x, y, _, _ = clouds(8, 8)
    x = x.detach()
    values = []
    for made in (
        ot.da.EMDTransport(),
        ot.da.SinkhornTransport(reg_e=1.0),
        ot.da.LinearTransport(),
        ot.da.MappingTransport(max_iter=2, kernel="linear"),
    ):
        made.fit(Xs=x, Xt=y)
        values.append(made.transform(Xs=x))
    return values
