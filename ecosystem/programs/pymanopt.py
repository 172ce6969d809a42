"""pymanopt: optimisation on manifolds, with gradients and Hessians by autograd."""

import numpy
import pymanopt
import torch
from pymanopt import manifolds, optimizers


def solved(manifold, cost, optimizer=None, start=None):
    wrapped = pymanopt.function.pytorch(manifold)(cost)
    problem = pymanopt.Problem(manifold, wrapped)
    numpy.random.seed(0)
    point = manifold.random_point() if start is None else start
    vector = manifold.random_tangent_vector(point)
    parts = [
        problem.cost(point),
        problem.euclidean_gradient(point),
        problem.riemannian_gradient(point),
        problem.euclidean_hessian(point, vector),
        problem.riemannian_hessian(point, vector),
    ]
    optimizer = optimizer or optimizers.TrustRegions(max_iterations=3, verbosity=0)
    parts.append(optimizer.run(problem, initial_point=point).point)
    flat = []
    for part in parts:
        flat += (
            [numpy.asarray(p) for p in part]
            if isinstance(part, (list, tuple))
            else [numpy.asarray(part)]
        )
    return [torch.as_tensor(numpy.array(p)) for p in flat]


def matrix(n):
    a = torch.randn(n, n)
    return a + a.T


def case_sphere():
    A = matrix(5)
    return solved(manifolds.Sphere(5), lambda x: -x @ A @ x)


def case_stiefel():
    A = matrix(5)
    return solved(manifolds.Stiefel(5, 2), lambda x: -torch.trace(x.T @ A @ x))


def case_grassmann():
    A = matrix(5)
    steepest = optimizers.SteepestDescent(max_iterations=3, verbosity=0)
    return solved(manifolds.Grassmann(5, 2), lambda x: -torch.trace(x.T @ A @ x), steepest)


def case_definite():
    A = matrix(3)
    conjugate = optimizers.ConjugateGradient(max_iterations=3, verbosity=0)
    manifold = manifolds.SymmetricPositiveDefinite(3)
    return solved(manifold, lambda x: torch.trace(A @ x) + torch.logdet(x).square(), conjugate)


def case_product():
    manifold = manifolds.Product([manifolds.Sphere(4), manifolds.Euclidean(3)])
    A = torch.randn(4, 3)
    return solved(manifold, lambda x, y: (x @ A @ y - 1).square() + y.square().sum())


def case_low_rank():
    A = torch.randn(5, 4)
    manifold = manifolds.FixedRankEmbedded(5, 4, 2)
    wrapped = pymanopt.function.pytorch(manifold)(
        lambda u, s, vt: (u @ torch.diag(s) @ vt - A).square().sum()
    )
    numpy.random.seed(0)
    point = manifold.random_point()
    problem = pymanopt.Problem(manifold, wrapped)
    return [torch.as_tensor(numpy.array(g)) for g in problem.euclidean_gradient(point)]


def case_complex():
    A = matrix(4) + 0j
    manifold = manifolds.ComplexCircle(4)
    return [
        torch.view_as_real(p + 0j)
        for p in solved(
            manifold,
            lambda x: -(x.conj() @ A @ x).real,
            optimizers.SteepestDescent(max_iterations=3, verbosity=0),
        )
    ]
