"""pytorch-minimize: minimisers with gradients and Hessians by autograd."""

import torch
from torchmin import Minimizer, ScipyMinimizer, least_squares, minimize, minimize_constr
from torchmin.benchmarks import rosen
from torchmin.function import ScalarFunction
from torchmin.line_search import brent, strong_wolfe


def minimum(method, **options):
    found = minimize(rosen, torch.tensor([1.3, 0.7, 0.8]), method=method, options=options)
    return found.x, found.fun


def case_bfgs():
    return minimum("bfgs")


def case_lbfgs():
    return minimum("l-bfgs")


def case_cg():
    return minimum("cg")


def case_newton_cg():
    return minimum("newton-cg")


def case_newton_exact():
    return minimum("newton-exact")


def case_trust_exact():
    return minimum("trust-exact")


def case_trust_ncg():
    return minimum("trust-ncg")


def case_newton_of_module():
    layer = torch.nn.Linear(2, 1)
    x = torch.randn(20, 2)
    y = x @ torch.tensor([[1.0], [-2.0]]) + 0.5
    optimizer = Minimizer(layer.parameters(), method="newton-cg", max_iter=20)

    def closure():
        optimizer.zero_grad()
        return torch.nn.functional.mse_loss(layer(x), y)

    return optimizer.step(closure), layer.weight, layer.bias


def case_scipy_of_module():
    layer = torch.nn.Linear(2, 1)
    x = torch.randn(20, 2)
    constraint = {"fun": lambda: torch.stack([layer.weight.sum(), layer.bias[0]]), "ub": 0.5}
    optimizer = ScipyMinimizer(
        layer.parameters(), method="trust-constr", constraints=constraint, options={"maxiter": 15}
    )

    def closure():
        optimizer.zero_grad()
        return torch.nn.functional.mse_loss(layer(x), x.sum(1, keepdim=True))

    return optimizer.step(closure), layer.weight, layer.bias


def case_constrained():
    found = minimize_constr(
        rosen,
        torch.tensor([0.5, 0.4, 0.3]),
        max_iter=15,
        constr={"fun": lambda x: x.square().sum(), "ub": 1.0},
        bounds=(0.0, 0.9),
    )
    return found.x, found.fun


def case_least_squares():
    t = torch.linspace(0, 1, 12)
    y = 2 * torch.exp(-1.5 * t) + 0.3

    def residuals(x):
        return x[0] * torch.exp(-x[1] * t) + x[2] - y

    return [
        least_squares(residuals, torch.ones(3), method="trf", tr_solver=solver, max_nfev=20).x
        for solver in ("exact", "lsmr")
    ]


def case_line_searches():
    fun = ScalarFunction(rosen, (3,))
    x = torch.tensor([1.3, 0.7, 0.8])
    value, gradient = fun.closure(x)[:2]
    found = strong_wolfe(fun.dir_evaluate, x, 0.01, -gradient, value, gradient)
    return *found, torch.tensor(brent(rosen, x, -gradient, (0, 0.01)))
