"""geotorch: parameters on manifolds."""

import geotorch
import torch


def trained(register, shape=(4, 4)):
    layer = torch.nn.Linear(shape[1], shape[0], bias=False)
    register(layer)
    optimizer = torch.optim.SGD(layer.parameters(), lr=0.1)
    x = torch.randn(5, shape[1])
    losses = []
    for _ in range(3):
        optimizer.zero_grad()
        loss = (layer(x) - 1).square().mean()
        loss.backward()
        optimizer.step()
        losses.append(loss.detach())
    return *losses, layer.weight @ layer.weight.T


def case_orthogonal():
    return trained(lambda layer: geotorch.orthogonal(layer, "weight"))


def case_low_rank():
    return trained(lambda layer: geotorch.low_rank(layer, "weight", 2), (4, 3))[:3]


def case_symmetric():
    return trained(lambda layer: geotorch.symmetric(layer, "weight"))


def case_skew():
    return trained(lambda layer: geotorch.skew(layer, "weight"))


def case_sphere():
    return trained(lambda layer: geotorch.sphere(layer, "weight"))
