"""Buffers and views in training code: what in-place writes break, what they do not, and the repairs."""

import torch
from torch import nn

torch.manual_seed(31)

# A running mean that forgets to leave the graph drags every old batch along.
weight = torch.tensor([1.0, -2.0], requires_grad=True)
running = torch.zeros(())
for x in torch.tensor([[1.0, 2.0], [3.0, 4.0]]):
    running = 0.9 * running + 0.1 * (weight * x).sum()

running.grad_fn
running.backward()
running.backward()  # raises RuntimeError

# As a buffer, it is written under no_grad or from detached values.
statistics = nn.BatchNorm1d(2, affine=False)
before = statistics.running_mean
statistics(torch.tensor([[1.0, 2.0], [3.0, 6.0]]))
statistics.running_mean is before
before._version
weight.grad = None

# An activation written in place is stale for whoever saved it.
hidden = (weight * 3).exp()
hidden.mul_(2)
hidden.sum().backward()  # raises RuntimeError
hidden = (weight * 3).exp()
(hidden * 2).add_(1).sum().backward()
weight.grad

# relu_ saves its result and may overwrite its input; sigmoid's input is free as well.
inner = weight * 2
inner.relu_().sum().backward()
inner = weight * 2
outer = inner.sigmoid()
inner.zero_()
outer.sum().backward()

# But an operand of a product may not change.
inner = weight * 2
product = inner * inner
inner += 1
product.sum().backward()  # raises RuntimeError

# Weights must not be updated between forward and backward, except where nobody saved them.
layer = nn.Linear(2, 2)
other = nn.Linear(2, 1)
x = torch.randn(3, 2)
loss = other(layer(x)).sum()
with torch.no_grad():
    other.weight.sub_(0.1)

loss.backward()  # raises RuntimeError
loss = other(layer(x)).sum()
with torch.no_grad():
    layer.weight.sub_(0.1)

loss.backward()
layer.weight.grad

# `.data` hides the write, and the gradient is silently that of the new value.
loss = other(layer(x)).sum()
other.weight.data.zero_()
loss.backward()
layer.bias.grad

# A leaf is updated under no_grad or not at all, and so are its views.
layer.weight -= 0.1  # raises RuntimeError
layer.weight[0] = 0.0  # raises RuntimeError
layer.weight.view(-1)[0].fill_(1.0)  # raises RuntimeError
with torch.no_grad():
    row = layer.weight[0]
    row.fill_(0.5)

layer.weight
row.requires_grad

# A buffer filled slice by slice records every write, once it has taken in what requires grad.
buffer = torch.zeros(3, 2)
slices = [buffer[i] for i in range(3)]
for i in range(3):
    buffer[i] = weight * i

buffer.grad_fn
slices[1].grad_fn
slices[1].requires_grad
weight.grad = None
buffer.square().sum().backward()
weight.grad

# Outputs of unbind and chunk are views of one base that must not be written one by one.
base = weight.repeat(2).view(2, 2) * 1
first, second = base.unbind(0)
first.mul_(2)  # raises RuntimeError
left, right = base.chunk(2, dim=1)
left.add_(1)  # raises RuntimeError
copy = base.clone()
copy[0].mul_(2)
copy.sum().backward()

# expand shares memory with itself: reading is fine, writing is refused.
wide = weight.detach().expand(3, 2)
wide.sum(0)
wide[0] = 1.0
wide.add_(1)  # raises RuntimeError

# Gradients are zeroed in place or dropped; what refers to them sees the one and not the other.
weight.grad = None
(weight * 2).sum().backward()
held = weight.grad
weight.grad.zero_()
held
(weight * 2).sum().backward()
held
weight.grad is held
weight.grad = None
(weight * 3).sum().backward()
held

# An accumulated loss keeps all graphs alive; `item` and `detach` do not.
total = 0
for scale in (1.0, 2.0):
    total += (weight * scale).sum().detach()

total
total.requires_grad
