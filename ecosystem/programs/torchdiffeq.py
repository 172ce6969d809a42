"""torchdiffeq: gradients through solvers of differential equations."""

import torch
from torchdiffeq import odeint, odeint_adjoint


class Dynamics(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.net = torch.nn.Sequential(
            torch.nn.Linear(2, 8), torch.nn.Tanh(), torch.nn.Linear(8, 2)
        )

    def forward(self, t, y):
        return self.net(y) - 0.1 * t * y


def solved(solve, **options):
    func = Dynamics()
    y0 = torch.tensor([1.0, -0.5], requires_grad=True)
    y = solve(func, y0, torch.linspace(0.0, 1.0, 5), **options)
    y.square().sum().backward()
    return y, y0.grad, *(p.grad for p in func.parameters())


def case_dopri5():
    return solved(odeint, rtol=1e-6, atol=1e-8)


def case_rk4():
    return solved(odeint, method="rk4")


def case_euler():
    return solved(odeint, method="euler")


def case_midpoint():
    return solved(odeint, method="midpoint", options={"step_size": 0.1})


def case_adams():
    return solved(odeint, method="implicit_adams")


def case_adjoint():
    return solved(odeint_adjoint, rtol=1e-6, atol=1e-8)
