"""torchcde: controlled differential equations along interpolated paths."""

import torch
import torchcde


class Field(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Linear(3, 3 * 2)

    def forward(self, t, z):
        return self.linear(z).tanh().view(*z.shape[:-1], 3, 2)


def solved(coefficients, path, **options):
    x = torch.randn(2, 6, 2)
    control = path(coefficients(x))
    field = Field()
    z0 = torch.randn(2, 3, requires_grad=True)
    z = torchcde.cdeint(X=control, z0=z0, func=field, t=control.interval, **options)
    z.square().sum().backward()
    return z, z0.grad, field.linear.weight.grad


def case_cubic():
    return solved(
        torchcde.hermite_cubic_coefficients_with_backward_differences,
        torchcde.CubicSpline,
        adjoint=False,
        method="rk4",
    )


def case_linear():
    return solved(
        torchcde.linear_interpolation_coeffs,
        torchcde.LinearInterpolation,
        adjoint=True,
        method="midpoint",
    )


def case_natural():
    return torchcde.natural_cubic_coeffs(torch.randn(2, 6, 2))
