"""memcnn: invertible layers, which give the memory of their inputs back and make them again."""

import torch
from memcnn import AdditiveCoupling, AffineCoupling, InvertibleModuleWrapper
from memcnn.models.affine import AffineAdapterNaive
from torch import nn


class Part(nn.Module):
    def __init__(self, channels=2):
        super().__init__()
        self.conv = nn.Conv2d(channels, channels, 3, padding=1)
        self.norm = nn.BatchNorm2d(channels)

    def forward(self, x):
        return torch.relu(self.norm(self.conv(x)))


def additive():
    return AdditiveCoupling(Part(), Part())


def trained(coupling, **options):
    model = nn.Sequential(*(InvertibleModuleWrapper(coupling(), **options) for _ in range(2)))
    x = torch.randn(2, 4, 5, 5, requires_grad=True)
    copied = x * 1
    y = model(copied)
    left = torch.tensor(copied.untyped_storage().nbytes())
    y.square().mean().backward()
    with torch.no_grad():
        back = model[0].inverse(model[0](x.detach().clone()))
    grads = (p.grad for p in model.parameters())
    return y, left, x.grad, back, *grads, *(b.double() for b in model.buffers())


def case_additive():
    return trained(additive, keep_input=False, keep_input_inverse=False)


def case_kept_inputs():
    return trained(additive, keep_input=True, keep_input_inverse=True)


def case_affine():
    return trained(
        lambda: AffineCoupling(Part(), adapter=AffineAdapterNaive),
        keep_input=False,
        keep_input_inverse=True,
    )


def case_disabled():
    return trained(additive, disable=True)


def case_random_state():
    def part():
        return nn.Sequential(nn.Linear(3, 3), nn.Dropout(0.3))

    coupling = AdditiveCoupling(part(), part(), split_dim=-1)
    layer = InvertibleModuleWrapper(coupling, keep_input=False, preserve_rng_state=True)
    x = torch.randn(4, 6, requires_grad=True)
    y = layer(x * 1)
    y.square().sum().backward()
    return y, x.grad, *(p.grad for p in layer.parameters())


def case_two_backward_passes():
    layer = InvertibleModuleWrapper(additive(), keep_input=False, num_bwd_passes=2)
    x = torch.randn(2, 4, 3, 3, requires_grad=True)
    y = layer(x * 1)
    y.sum().backward(retain_graph=True)
    y.square().sum().backward()
    return y, x.grad, *(p.grad for p in layer.parameters())
