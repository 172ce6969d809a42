"""Half, single, double and complex together: master weights, loss scaling, casts and promotion."""

import torch
from torch import nn
from torch.nn import functional as F

torch.manual_seed(37)

# Master weights in float32, the forward pass in bfloat16: casts are part of the graph.
master = nn.Parameter(torch.randn(3, 4))
x = torch.randn(5, 4)
low = x.to(torch.bfloat16) @ master.to(torch.bfloat16).t()
low.dtype
loss = low.float().square().mean()
loss.backward()
master.grad.dtype
master.grad

# Loss scaling: gradients too small for half are found again after a larger loss.
tiny = torch.tensor([1e-3, 2e-3], dtype=torch.float32, requires_grad=True)
(tiny.half() * torch.tensor(1e-5, dtype=torch.float16)).sum().mul(1e-3).backward()
tiny.grad
tiny.grad = None
scale = 1024.0
(tiny.half() * torch.tensor(1e-5, dtype=torch.float16)).sum().mul(1e-3 * scale).backward()
tiny.grad / scale

# An overflow shows as an infinity; the step is skipped and the scale halved.
big = torch.tensor([200.0], requires_grad=True)
(big.half() ** 3).float().sum().backward()
overflowed = not torch.isfinite(big.grad).all()
scale = scale / 2 if overflowed else scale

# Promotion: the gradient of each operand comes back in the operand's own type.
a = torch.ones(2, dtype=torch.float16, requires_grad=True)
b = torch.full((2,), 3.0, dtype=torch.float64, requires_grad=True)
c = torch.tensor([2, 5])
mixed = a * b + c
mixed.dtype
mixed.sum().backward()
a.grad
b.grad

# 0-dim tensors and numbers do not promote within a category.
s = torch.tensor(2.0, dtype=torch.float64, requires_grad=True)
scaled = torch.ones(2) * s
scaled.dtype
scaled.sum().backward()
s.grad
torch.ones(2, dtype=torch.int64) * s

# Products of matrices refuse mixed types.
torch.ones(2, 2) @ torch.ones(2, 2, dtype=torch.float64)  # raises RuntimeError
F.linear(torch.ones(1, 2), torch.ones(3, 2, dtype=torch.bfloat16))  # raises RuntimeError

# A module moved to another type; its buffers of integers stay.
model = nn.Sequential(nn.Linear(2, 3), nn.BatchNorm1d(3))
model = model.double()
[b.dtype for b in model.buffers()]
out = model(torch.ones(2, 2, dtype=torch.float64) * torch.tensor([[1.0], [2.0]]))
out.dtype
out[0].sum().backward()
model[0].weight.grad.dtype
model.to(torch.float32)[0].weight.grad.dtype

# Integers and booleans have no gradients.
torch.tensor([1, 2], requires_grad=True)  # raises RuntimeError
counts = torch.tensor([1.0, 2.0], requires_grad=True).long()
counts.requires_grad
mask = torch.tensor([0.5, -0.5], requires_grad=True) > 0
mask.requires_grad

# A complex parameter: the gradient is that of the conjugate, so that descent descends.
z = torch.tensor([1 + 2j, -1j], requires_grad=True)
energy = (z.abs() ** 2).sum()
energy.backward()
z.grad
optimizer = torch.optim.SGD([z], lr=0.25)
optimizer.step()
z
w = torch.view_as_real(z)
w.sum().backward()
z.grad

# A real signal through the complex numbers and back.
signal = torch.linspace(0, 1, 4, requires_grad=True)
turned = signal * torch.exp(1j * torch.arange(4))
turned.dtype
turned.real.sum().backward()
signal.grad

# float16 accumulates in wider numbers, and rounds once.
ones = torch.full((4096,), 0.1, dtype=torch.float16, requires_grad=True)
total = ones.sum()
total.backward()
ones.grad[:3]
ones.to(torch.float64).sum()
