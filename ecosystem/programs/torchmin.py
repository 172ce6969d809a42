"""pytorch-minimize: minimisers with gradients and Hessians by autograd."""

import torch
from torchmin import minimize
from torchmin.benchmarks import rosen


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
