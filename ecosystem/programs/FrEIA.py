"""FrEIA: invertible networks with their Jacobians, as sequences and as graphs."""

import FrEIA.framework as framework
import FrEIA.modules as layers
import torch
from torch import nn


def dense(inputs, outputs):
    return nn.Sequential(nn.Linear(inputs, 8), nn.SiLU(), nn.Linear(8, outputs))


def trained(*parts):
    """Likelihood, its gradients, and gradients of these; and the way back."""
    model = framework.SequenceINN(6)
    for part, options in parts:
        model.append(part, **options)
    x = torch.randn(5, 6, requires_grad=True)
    z, jacobian = model(x)
    loss = (0.5 * z.square().sum(1) - jacobian).mean()
    (slope,) = torch.autograd.grad(loss, x, create_graph=True)
    (loss + slope.square().sum()).backward()
    with torch.no_grad():
        back, _ = model(z, rev=True)
    grads = (p.grad for p in model.parameters() if p.grad is not None)
    return z, jacobian, slope, back, x.grad, *grads


def case_couplings():
    net = {"subnet_constructor": dense}
    return trained(
        (layers.GLOWCouplingBlock, {"clamp": 1.2, **net}),
        (layers.PermuteRandom, {"seed": 1}),
        (layers.RNVPCouplingBlock, net),
        (layers.GINCouplingBlock, net),
        (layers.NICECouplingBlock, net),
    )


def case_linear_maps():
    return trained(
        (layers.ActNorm, {}),
        (layers.FixedLinearTransform, {"M": 2 * torch.eye(6), "b": torch.ones(6)}),
        (layers.OrthogonalTransform, {}),
        (layers.HouseholderPerm, {"n_reflections": 2}),
        (layers.InvertibleSigmoid, {}),
    )


def case_graph_with_a_condition():
    start = framework.InputNode(2, 4, 4, name="start")
    given = framework.ConditionNode(1, 2, 2, name="given")
    haar = framework.Node(start, layers.HaarDownsampling, {"order_by_wavelet": True})
    convolution = {"subnet_constructor": lambda i, o: nn.Conv2d(i, o, 3, padding=1)}
    glow = framework.Node(haar, layers.GLOWCouplingBlock, convolution, conditions=given)
    up = framework.Node(glow, layers.IRevNetUpsampling, {})
    flat = framework.Node(up, layers.Flatten, {})
    end = framework.OutputNode(flat, name="end")
    model = framework.GraphINN([start, given, haar, glow, up, flat, end])
    x, c = torch.randn(2, 2, 4, 4, requires_grad=True), torch.randn(2, 1, 2, 2)
    z, jacobian = model(x, c=c)
    (z.square().sum() - jacobian.sum()).backward()
    back, _ = model(z.detach(), c=c, rev=True)
    grads = (p.grad for p in model.parameters() if p.grad is not None)
    return z, jacobian, back, x.grad, *grads
