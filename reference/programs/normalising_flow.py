"""A normalising flow: couplings and a linear layer, whose log-determinants are differentiated."""

import math

import torch
from torch import nn

torch.manual_seed(29)
torch.set_default_dtype(torch.float64)


class Coupling(nn.Module):
    """Half of the input scales and shifts the other half."""

    def __init__(self, width, first):
        super().__init__()
        half = width // 2
        self.first = first
        self.net = nn.Sequential(nn.Linear(half, 6), nn.Tanh(), nn.Linear(6, 2 * half))

    def forward(self, x):
        a, b = x.chunk(2, dim=-1)
        if self.first:
            a, b = b, a
        scale, shift = self.net(a).chunk(2, dim=-1)
        scale = torch.tanh(scale)
        b = b * scale.exp() + shift
        parts = (b, a) if self.first else (a, b)
        return torch.cat(parts, -1), scale.sum(-1)

    def inverse(self, y):
        a, b = y.chunk(2, dim=-1)
        if self.first:
            a, b = b, a
        scale, shift = self.net(a).chunk(2, dim=-1)
        b = (b - shift) * torch.exp(-torch.tanh(scale))
        return torch.cat((b, a) if self.first else (a, b), -1)


class Mixing(nn.Module):
    """A full matrix, whose log-determinant is the same for every example."""

    def __init__(self, width):
        super().__init__()
        self.weight = nn.Parameter(torch.eye(width) + 0.1 * torch.randn(width, width))

    def forward(self, x):
        _, log_determinant = torch.linalg.slogdet(self.weight)
        return x @ self.weight.T, log_determinant.expand(len(x))

    def inverse(self, y):
        return torch.linalg.solve(self.weight, y.T).T


layers = nn.ModuleList([Coupling(4, False), Mixing(4), Coupling(4, True)])
data = torch.randn(5, 4) * torch.tensor([1.0, 0.5, 2.0, 1.0])


def transformed(x):
    total = x.new_zeros(len(x))
    for layer in layers:
        x, log_determinant = layer(x)
        total = total + log_determinant
    return x, total


z, log_determinant = transformed(data)
log_density = -0.5 * z.square().sum(1) - 2 * math.log(2 * math.pi) + log_determinant
loss = -log_density.mean()
loss.backward()
layers[1].weight.grad
layers[0].net[0].weight.grad

# The inverse undoes it, and the Jacobian has the determinant that was added up.
with torch.no_grad():
    back = z
    for layer in reversed(layers):
        back = layer.inverse(back)

torch.allclose(back, data)
jacobian = torch.autograd.functional.jacobian(lambda x: transformed(x)[0].sum(0), data)
sign, size = torch.linalg.slogdet(jacobian.transpose(0, 1))
torch.allclose(size, log_determinant)

# The gradient of slogdet is the inverse, transposed.
matrix = layers[1].weight.detach().clone().requires_grad_()
sign, logabsdet = torch.linalg.slogdet(matrix)
sign.requires_grad
(slope,) = torch.autograd.grad(logabsdet, matrix, create_graph=True)
torch.allclose(slope, torch.linalg.inv(matrix).T)
slope[0, 0].backward()
matrix.grad

optimizer = torch.optim.Adam(layers.parameters(), lr=0.02)
history = []
for _ in range(3):
    z, log_determinant = transformed(data)
    loss = (0.5 * z.square().sum(1) - log_determinant).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    history.append(loss.item())

# The score of the density: a gradient in the data, and its trace by Hutchinson's estimator.
x = data.clone().requires_grad_()
z, log_determinant = transformed(x)
log_density = -0.5 * z.square().sum(1) + log_determinant
(score,) = torch.autograd.grad(log_density.sum(), x, create_graph=True)
noise = torch.randint(0, 2, score.shape).double() * 2 - 1
(product,) = torch.autograd.grad(score, x, noise, retain_graph=True)
estimate = (product * noise).sum(1)
trace = torch.zeros(5)
for i in range(4):
    (column,) = torch.autograd.grad(score[:, i].sum(), x, retain_graph=True)
    trace += column[:, i]

matching = (trace + 0.5 * score.square().sum(1)).mean()
matching.backward()
x.grad
