"""Recomputation and packed activations: the same gradients from less memory."""

import torch
from torch import nn
from torch.utils.checkpoint import checkpoint

torch.manual_seed(41)
torch.set_default_dtype(torch.float64)


class Layer(nn.Module):
    def __init__(self, width=4):
        super().__init__()
        self.linear = nn.Linear(width, width)
        self.drop = nn.Dropout(0.5)
        self.calls = 0

    def forward(self, x):
        self.calls += 1
        return x + self.drop(torch.tanh(self.linear(x)))


layers = nn.ModuleList(Layer() for _ in range(3))
x = torch.randn(2, 4)


def run(saving):
    torch.manual_seed(0)
    layers.zero_grad()
    y = x.clone().requires_grad_()
    out = y
    for layer in layers:
        out = checkpoint(layer, out, use_reentrant=False) if saving else layer(out)
    out.square().sum().backward()
    return out.detach(), y.grad, [p.grad for p in layers.parameters()]


plain = run(False)
calls = [layer.calls for layer in layers]
saved = run(True)
calls = [layer.calls for layer in layers]
torch.equal(plain[0], saved[0])
torch.equal(plain[1], saved[1])
all(torch.equal(a, b) for a, b in zip(plain[2], saved[2]))

# The checkpointed result looks like any other, and its gradient can be asked for by name.
y = x.clone().requires_grad_()
out = checkpoint(layers[0], y, use_reentrant=False)
out.requires_grad
torch.autograd.grad(out.sum(), (y, layers[0].linear.weight))
out.sum().backward()  # raises RuntimeError

# The older kind runs forward without a graph and needs an input that requires grad.
out = checkpoint(layers[0], y, use_reentrant=True)
out.grad_fn
out.sum().backward()
y.grad

# Saved tensors packed by a pair of hooks: here in half precision.
packed = []


def pack(tensor):
    packed.append(tuple(tensor.shape))
    return tensor.to(torch.float16)


def unpack(tensor):
    return tensor.to(torch.float64)


a = torch.linspace(0.5, 2, 4, requires_grad=True)
with torch.autograd.graph.saved_tensors_hooks(pack, unpack):
    b = a.exp() * a

packed
b.sum().backward()
exact = (a.exp() * (1 + a)).detach()
torch.allclose(a.grad, exact, rtol=1e-2)
a.grad = None

# The same to a store that is looked up by key.
store = {}


def put(tensor):
    key = len(store)
    store[key] = tensor.detach().clone()
    return key


with torch.autograd.graph.saved_tensors_hooks(put, store.pop):
    b = (a * a).sin()

sorted(store)
b.sum().backward()
sorted(store)
a.grad

# What is saved may be forbidden.
with torch.autograd.graph.saved_tensors_hooks(lambda t: t, lambda t: t * float("nan")):
    c = a * 2
    d = a * a

c.sum().backward()
torch.autograd.grad(d.sum(), a)

# Gradients of micro-batches add up to that of the batch, if the mean is scaled.
model = nn.Linear(4, 1)
data, goal = torch.randn(6, 4), torch.randn(6, 1)
nn.functional.mse_loss(model(data), goal).backward()
whole = model.weight.grad.clone()
model.zero_grad()
for part, wanted in zip(data.split(2), goal.split(2)):
    (nn.functional.mse_loss(model(part), wanted) / 3).backward()

torch.allclose(model.weight.grad, whole)
