"""Weights computed from others: parametrisations, normalised and orthogonal weights, in training."""

import copy
import pickle

import torch
from torch import nn
from torch.nn.utils import parametrizations, parametrize

torch.manual_seed(31)


class Symmetric(nn.Module):
    def forward(self, X):
        return X.triu() + X.triu(1).mT

    def right_inverse(self, A):
        return A.triu()


class Positive(nn.Module):
    def forward(self, X):
        return X.exp()


class Rank1(nn.Module):
    def forward(self, x, y):
        return x.unsqueeze(-1) * y

    def right_inverse(self, Z):
        return Z[:, 0].clone(), Z[0].clone()


layer = nn.Linear(3, 3).double()
known = layer.weight
parametrize.register_parametrization(layer, "weight", Symmetric()) is layer
repr(layer)
type(layer).__name__
layer.parametrizations.weight.original is known
layer.weight
list(layer.state_dict())
[name for name, _ in layer.named_parameters()]
parametrize.is_parametrized(layer), parametrize.is_parametrized(layer, "bias")
layer(torch.ones(2, 3, dtype=torch.float64)).square().sum().backward()
known.grad

# Assignment goes through the inverse; a second one has none.
layer.weight = torch.ones(3, 3, dtype=torch.float64)
known
parametrize.register_parametrization(layer, "weight", Positive())
layer.weight
layer.weight = torch.ones(3, 3, dtype=torch.float64)  # raises RuntimeError

# What is read twice is computed twice, but for a cache.
layer.weight is layer.weight  # False
with parametrize.cached():
    same = layer.weight is layer.weight
    total = (layer.weight * layer.weight).sum()
same
total.backward()
known.grad

# Copies share the class, and nothing pickles.
twin = copy.deepcopy(layer)
type(twin) is type(layer)
torch.equal(twin.weight, layer.weight)
pickle.dumps(layer)  # raises RuntimeError
parametrize.remove_parametrizations(layer, "weight")
repr(layer), layer.weight is known
known
parametrize.remove_parametrizations(layer, "weight")  # raises ValueError
parametrize.type_before_parametrizations(twin).__name__

# Several originals, changed shapes, and buffers.
pair = nn.Linear(2, 3).double()
parametrize.register_parametrization(pair, "weight", Rank1())
list(pair.state_dict())
pair.weight
parametrize.remove_parametrizations(pair, "weight", leave_parametrized=False)  # raises ValueError
parametrize.register_parametrization(pair, "nope", Rank1())  # raises ValueError
parametrize.register_parametrization(pair, "bias", nn.Linear(3, 1).double())  # raises ValueError
parametrize.register_parametrization(pair, "bias", nn.Linear(3, 1))  # raises RuntimeError
pair.register_buffer("scale", torch.tensor([0.5, -1.0]))
parametrize.register_parametrization(pair, "scale", Positive())
pair.scale, [name for name, _ in pair.named_buffers()]

# A norm and a direction.
normed = parametrizations.weight_norm(nn.Linear(2, 3))
normed.weight
g, v = (getattr(normed.parametrizations.weight, f"original{i}") for i in range(2))
optimizer = torch.optim.SGD(normed.parameters(), lr=0.1)
x = torch.randn(4, 2)
for _ in range(2):
    optimizer.zero_grad()
    normed(x).square().mean().backward()
    optimizer.step()

g, v.grad
list(normed.state_dict())
whole = parametrizations.weight_norm(nn.Conv1d(2, 2, 3), dim=None)
whole.weight.grad_fn.next_functions[1][0].name()
middle = parametrizations.weight_norm(nn.Conv1d(2, 4, 3), dim=1)
middle.weight
last = parametrizations.weight_norm(nn.Conv1d(2, 4, 3), dim=2)
last(torch.ones(1, 2, 4)).sum().backward()
last.parametrizations.weight.original0.grad

# The greatest singular value is one, nearly: power iterations go on in training.
spectral = parametrizations.spectral_norm(nn.Linear(4, 3))
repr(spectral)
torch.linalg.matrix_norm(spectral.weight, 2)
first = spectral.parametrizations.weight[0]._u.clone()
spectral.weight.sum().backward()
(spectral.parametrizations.weight[0]._u - first).abs().max() < 0.1
spectral.parametrizations.weight.original.grad
list(spectral.state_dict())
spectral.eval()
torch.equal(spectral.weight, spectral.weight)
turned = parametrizations.spectral_norm(nn.ConvTranspose1d(2, 3, 2), n_power_iterations=3)
turned.weight
parametrizations.spectral_norm(nn.Linear(2, 2), "bias").bias
parametrizations.spectral_norm(nn.Linear(2, 2), n_power_iterations=0)  # raises ValueError
parametrizations.spectral_norm(nn.Linear(2, 2), dim=2)  # raises IndexError
parametrizations.spectral_norm(nn.Linear(2, 2), "nope")  # raises ValueError

# Orthogonal weights, by three maps.
found = []
for chosen in (None, "cayley", "householder"):
    square = parametrizations.orthogonal(nn.Linear(3, 3).double(), orthogonal_map=chosen)
    Q = square.weight
    (Q @ torch.arange(9.0, dtype=torch.float64).reshape(3, 3)).sin().sum().backward()
    found.append((Q, square.parametrizations.weight.original.grad))

found

tall = parametrizations.orthogonal(nn.Linear(2, 4).double(), use_trivialization=False)
torch.dist(tall.weight.mT @ tall.weight, torch.eye(2, dtype=torch.float64)) < 1e-12
tall.weight = torch.eye(4, 2, dtype=torch.float64)
tall.weight
wide = parametrizations.orthogonal(nn.Linear(4, 2).double(), orthogonal_map="cayley")
torch.dist(wide.weight @ wide.weight.mT, torch.eye(2, dtype=torch.float64)) < 1e-12
wide.weight = torch.ones(2, 2, dtype=torch.float64)  # raises ValueError
parametrizations.orthogonal(nn.Linear(2, 2), "bias")  # raises ValueError
parametrizations.orthogonal(nn.Linear(2, 2), orthogonal_map="polar")  # raises ValueError
