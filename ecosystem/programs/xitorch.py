"""xitorch: roots, integrals, interpolation and linear operators with higher derivatives."""

import torch
from xitorch import LinearOperator, linalg
from xitorch.grad import hess, jac
from xitorch.integrate import SQuad, quad, solve_ivp
from xitorch.interpolate import Interp1D
from xitorch.optimize import equilibrium, minimize, rootfinder


def text(value):
    return torch.tensor(list(repr(value).encode()))


def derived(value, *inputs):
    first = torch.autograd.grad(value.sum(), inputs, create_graph=True)
    second = torch.autograd.grad(sum(g.square().sum() for g in first), inputs, allow_unused=True)
    return value, *first, *(g for g in second if g is not None)


def case_root():
    a = torch.rand(2, 3, requires_grad=True)
    y0 = torch.zeros(2, 1)

    def f(y, a):
        return torch.tanh(a.sum(-1, keepdim=True) - y) + 0.1 * y**3

    return derived(rootfinder(f, y0, params=(a,), method="broyden1"), a)


def case_equilibrium():
    a = torch.rand(3, requires_grad=True)
    return derived(equilibrium(lambda y, a: torch.cos(y) * a, torch.zeros(3), params=(a,)), a)


def case_minimum():
    a = torch.rand(3, requires_grad=True)

    def loss(y, a):
        return ((y - a) ** 2 + 0.1 * y**4).sum()

    return derived(
        minimize(loss, torch.zeros(3), params=(a,), method="gd", step=0.1, maxiter=200), a
    )


def case_integral():
    a = torch.rand(2, requires_grad=True)
    return derived(
        quad(lambda x, a: torch.sin(a * x), torch.zeros(()), torch.ones(()), params=(a,)), a
    )


def case_sampled_integral():
    x = torch.linspace(0, 1, 9)
    y = torch.rand(2, 9, requires_grad=True)
    found = [SQuad(x, method=method) for method in ("trapz", "simpson", "cspline")]
    return [part for made in found for part in derived(made.cumsum(y) ** 2, y)]


def case_differential_equation():
    a = torch.rand(1, requires_grad=True)
    y0 = torch.rand(2, requires_grad=True)
    t = torch.linspace(0, 1, 4)
    found = []
    for method in ("rk4", "rk38", "rk45"):
        found += derived(
            solve_ivp(lambda t, y, a: -a * y**2, t, y0, params=(a,), method=method), a, y0
        )
    return found


def case_interpolation():
    x = torch.linspace(0, 1, 7)
    y = torch.rand(2, 7, requires_grad=True)
    at = torch.rand(4, requires_grad=True)
    found = []
    for method in ("linear", "cspline"):
        found += derived(Interp1D(x, y, method=method)(at), y, at)
    return found


class Tridiagonal(LinearOperator):
    def __init__(self, a, b):
        super().__init__(shape=(4, 4), is_hermitian=True, dtype=a.dtype, device=a.device)
        self.a, self.b = a, b

    def _mv(self, x):
        first = torch.nn.functional.pad(x[..., 1:] * self.b, (0, 1))
        return self.a * x + first + torch.nn.functional.pad(x[..., :-1] * self.b, (1, 0))

    def _getparamnames(self, prefix=""):
        return [prefix + "a", prefix + "b"]


def operator():
    a = (torch.rand(4) + 3).requires_grad_()
    b = torch.rand(3, requires_grad=True)
    return Tridiagonal(a, b), a, b


def case_solve():
    made, a, b = operator()
    found = []
    for method in ("cg", "bicgstab", "custom_exactsolve"):
        found += derived(linalg.solve(made, torch.ones(4, 2), method=method), a, b)
    return *found, made.fullmatrix(), text(made)


def case_eigenvalues():
    made, a, b = operator()
    values, vectors = linalg.symeig(made, neig=2, mode="lowest", method="davidson")
    return *derived(values, a, b), vectors.abs()


def case_dense():
    A = torch.rand(4, 4, requires_grad=True)
    made = LinearOperator.m(A)
    singular = linalg.svd(made, k=2)[1]
    return (
        *derived(singular, A),
        made.mm(torch.ones(4, 2)),
        made.H.fullmatrix(),
        made.mv(torch.ones(4)),
    )


def case_jacobian():
    x = torch.rand(3, requires_grad=True)
    made = jac(lambda x: torch.sin(x) * x.sum(), (x,), idxs=0)
    curved = hess(lambda x: (x**3).sum() * x[0], (x,), idxs=0)
    return made.fullmatrix(), curved.fullmatrix(), made.mv(torch.ones(3)), made.rmv(torch.ones(3))
