"""nflows: normalizing flows by couplings, autoregression, splines and linear maps."""

import copy

import torch
from nflows import distributions, flows, transforms
from nflows.nn.nets import ResidualNet
from nflows.utils.torchutils import create_alternating_binary_mask, searchsorted


def net(inputs, outputs):
    return ResidualNet(inputs, outputs, hidden_features=6, num_blocks=1)


def both_ways(transform, inputs):
    """The images, the logarithms of the determinants, the inputs again, and gradients."""
    inputs = inputs.clone().requires_grad_()
    images, logarithms = transform(inputs)
    again, _ = transform.inverse(images)
    loss = images.square().sum() + logarithms.sum()
    parameters = [p for p in transform.parameters() if p.requires_grad]
    wanted = [inputs, *parameters[:3]]
    return [images, logarithms, again, *torch.autograd.grad(loss, wanted, materialize_grads=True)]


def case_affine_coupling():
    mask = create_alternating_binary_mask(4)
    return both_ways(transforms.AffineCouplingTransform(mask, net), torch.randn(5, 4))


def case_spline_couplings():
    mask = create_alternating_binary_mask(4)
    kinds = ("Linear", "Quadratic", "Cubic", "RationalQuadratic")
    found = []
    for kind in kinds:
        coupling = getattr(transforms, f"Piecewise{kind}CouplingTransform")
        found += both_ways(coupling(mask, net, num_bins=5), torch.rand(5, 4))[:4]
    return found


def case_spline_with_tails():
    mask = create_alternating_binary_mask(4)
    coupling = transforms.PiecewiseRationalQuadraticCouplingTransform(
        mask, net, num_bins=5, tails="linear", tail_bound=2.0
    )
    return both_ways(coupling, 2 * torch.randn(6, 4))


def case_autoregressive():
    made = transforms.MaskedAffineAutoregressiveTransform(3, 8, num_blocks=1)
    return both_ways(made, torch.randn(4, 3))


def case_linear_maps():
    made = [
        transforms.LULinear(4),
        transforms.QRLinear(4, num_householder=2),
        transforms.SVDLinear(4, num_householder=4),
    ]
    return [value for linear in made for value in both_ways(linear, torch.randn(5, 4))]


def case_images():
    squeezed, _ = transforms.SqueezeTransform()(torch.randn(2, 1, 4, 4))
    convolved = both_ways(transforms.OneByOneConvolution(4), squeezed)
    normed = both_ways(transforms.ActNorm(4), squeezed)
    return [squeezed, *convolved, *normed]


def case_pointwise():
    x = torch.rand(4, 3)
    made = [transforms.Tanh(), transforms.LeakyReLU(), transforms.Logit(), transforms.LogTanh()]
    return [value for transform in made for value in both_ways(transform, x)]


def case_searchsorted():
    return searchsorted(torch.linspace(0, 1, 6).expand(5, 6).clone(), torch.rand(5))


def case_training():
    parts = [
        transforms.ReversePermutation(2),
        transforms.MaskedAffineAutoregressiveTransform(2, 4, context_features=1),
    ]
    flow = flows.Flow(
        transforms.CompositeTransform(parts * 2),
        distributions.ConditionalDiagonalNormal([2], torch.nn.Linear(1, 4)),
    )
    optimizer = torch.optim.Adam(flow.parameters(), lr=1e-2)
    x, context = torch.randn(16, 2), torch.randn(16, 1)
    for _ in range(4):
        optimizer.zero_grad()
        loss = -flow.log_prob(x, context).mean()
        loss.backward()
        optimizer.step()
    again = copy.deepcopy(flow)
    again.load_state_dict(flow.state_dict())
    text = torch.tensor(list(repr(flow).encode()))
    return loss, again.sample(3, context[:2]), *flow.parameters(), text
