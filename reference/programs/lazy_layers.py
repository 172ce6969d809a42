"""Layers that learn their sizes from the first call, and layers folded into one another."""

import copy

import torch
from torch import nn
from torch.nn.parameter import is_lazy
from torch.nn.utils import fuse_conv_bn_eval, fuse_linear_bn_eval, weight_norm

torch.manual_seed(53)

layer = nn.LazyLinear(3)
repr(layer)
repr(layer.weight), repr(layer.bias), is_lazy(layer.weight)
layer.weight.dtype, layer.weight.requires_grad, layer.weight.is_leaf
layer.weight.shape  # raises RuntimeError
layer.has_uninitialized_params()
[type(p).__name__ for p in layer.parameters()]
list(layer.state_dict())
layer.double().weight.dtype
twin = copy.deepcopy(layer)
known = layer.weight
x = torch.randn(2, 4, dtype=torch.float64)
output = layer(x)
output
type(layer).__name__, layer.weight is known, type(known).__name__, known.dtype
repr(layer), hasattr(layer, "_initialize_hook")
output.square().sum().backward()
layer.weight.grad
layer(torch.randn(2, 5, dtype=torch.float64))  # raises RuntimeError

# A state gives values too; the class follows with the first call.
twin.load_state_dict(layer.state_dict())
twin.weight, type(twin).__name__
twin(x)
type(twin).__name__
nn.Linear(4, 3).load_state_dict(nn.LazyLinear(3).state_dict())  # raises RuntimeError
nn.LazyLinear(3).load_state_dict({"weight": torch.ones(3, 2)})  # raises RuntimeError
weight_norm(nn.LazyLinear(3))  # raises ValueError
without = nn.LazyLinear(2, bias=False)
without(torch.ones(3)), list(without.state_dict())

# A network without any input size.
network = nn.Sequential(
    nn.LazyConv2d(4, 3, padding=1, groups=2),
    nn.LazyBatchNorm2d(),
    nn.ReLU(),
    nn.LazyConvTranspose2d(2, 2, stride=2, bias=False),
    nn.LazyInstanceNorm2d(track_running_stats=False),
    nn.Flatten(),
    nn.LazyLinear(3),
)
repr(network)
image = torch.randn(2, 2, 3, 3)
found = network(image)
found
[type(module).__name__ for module in network]
repr(network)
optimizer = torch.optim.SGD(network.parameters(), lr=0.1)
found.square().mean().backward()
optimizer.step()
network[0].weight
network[1].running_mean, network[1].num_batches_tracked
nn.LazyConv1d(2, 3)(torch.ones(3))  # raises RuntimeError
nn.LazyConv1d(2, 3, groups=2)(torch.ones(1, 3, 4))  # raises ValueError
nn.LazyBatchNorm1d()(torch.ones(2, 3, 4, 5))  # raises ValueError
nn.LazyConv3d(1, 1, dtype=torch.float64)(torch.ones(1, 2, 1, 1, 1, dtype=torch.float64))
nn.LazyConvTranspose1d(2, 2, 2, 1, 1)(torch.ones(1, 2, 3))
nn.LazyInstanceNorm1d(affine=False)(torch.arange(6.0).reshape(1, 2, 3))
nn.LazyBatchNorm3d(momentum=None, bias=False)(torch.randn(2, 1, 2, 1, 1))

# A normalisation in evaluation is part of the layer before it.
convolution, normalisation = nn.Conv2d(2, 3, 2).eval(), nn.BatchNorm2d(3)
normalisation(torch.randn(4, 3, 2, 2))
normalisation.eval()
fused = fuse_conv_bn_eval(convolution, normalisation)
fused.weight, fused.bias
torch.allclose(fused(image), normalisation(convolution(image)), atol=1e-6)
linear, flat = nn.Linear(4, 3, bias=False).eval(), nn.BatchNorm1d(3).eval()
fuse_linear_bn_eval(linear, flat).bias
fuse_linear_bn_eval(linear, nn.BatchNorm1d(2).eval())  # raises AssertionError
fuse_conv_bn_eval(convolution.train(), normalisation)  # raises AssertionError
fuse_conv_bn_eval(
    convolution.eval(), nn.BatchNorm2d(3, track_running_stats=False).eval()
)  # raises AssertionError

# Pooling by powers, neighbours across channels, and outputs of a wished size.
x = torch.randn(1, 5, 4, 4).requires_grad_()
pools = [nn.LPPool2d(2, 2), nn.LPPool2d(1.5, (2, 3), stride=1, ceil_mode=True)]
repr(pools)
[pool(x.abs()) for pool in pools]
nn.LPPool1d(3, 2)(x[0, 0].abs()), nn.LPPool3d(2, 2)(x)
neighbours = nn.CrossMapLRN2d(3, alpha=0.5, beta=0.75, k=2)
repr(neighbours)
output = neighbours(x)
output
output.grad_fn.name()
(output * torch.arange(5.0).reshape(5, 1, 1)).sum().backward()
x.grad
nn.CrossMapLRN2d(2)(torch.ones(1, 3, 1, 2))
neighbours(torch.ones(2, 3))  # raises ValueError
up = nn.ConvTranspose2d(1, 1, 3, stride=2)
up(x[:, :1], output_size=(10, 9)).shape, up(x[:, :1], output_size=[1, 1, 9, 10]).shape
up(x[:, :1], output_size=(11, 9))  # raises ValueError
up(x[:, :1], output_size=(9,))  # raises ValueError

# A state from before a normalisation counted its batches.
state = {k: v for k, v in normalisation.state_dict().items() if k != "num_batches_tracked"}
normalisation.load_state_dict(state)
