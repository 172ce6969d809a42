"""Modules as functions of their parameters: other tensors in their places, buffers and tied weights."""

import torch
from torch import nn
from torch.func import functional_call, stack_module_state
from torch.nn.utils import parametrize, stateless

torch.manual_seed(43)


class Counting(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = nn.Linear(2, 2)
        self.count = nn.Buffer(torch.zeros(()))
        self.scratch = nn.Buffer(torch.ones(2), persistent=False)

    def forward(self, x, scale=1.0):
        self.count = self.count + 1
        return self.inner(x) * self.scratch * scale


model = Counting()
[name for name, _ in model.named_buffers()]
list(model.state_dict())
type(model.count).__name__, isinstance(model.count, nn.Buffer)
model.count = 3  # raises TypeError
model.inner = nn.Buffer(torch.ones(1))  # raises TypeError
plain = nn.Module()
plain.taken = torch.ones(1)
plain.taken = nn.Buffer(torch.ones(1))  # raises KeyError
plain.free = nn.Buffer()
plain.free.requires_grad, plain.free.shape
nn.Buffer(torch.ones(1, requires_grad=True)).requires_grad

# The call sees the given tensors, and hands out what it assigns.
x = torch.tensor([[1.0, -2.0]])
weights = {name: torch.full_like(p, 0.5).requires_grad_() for name, p in model.named_parameters()}
state = {**weights, "count": torch.tensor(5.0)}
y = functional_call(model, state, x)
y
state["count"], model.count
known = model.inner.weight
functional_call(model, state, (x,), {"scale": 2.0})
model.inner.weight is known
y.sum().backward()
weights["inner.weight"].grad, known.grad
functional_call(model, weights, x, {"scale": torch.zeros(3)})  # raises RuntimeError
model.inner.weight is known

# Gradients of the gradient: one step of descent that is itself differentiated.
loss = functional_call(model, weights, x).square().sum()
grads = torch.autograd.grad(loss, list(weights.values()), create_graph=True)
adapted = {name: w - 0.1 * g for (name, w), g in zip(weights.items(), grads)}
outer = functional_call(model, adapted, x).square().sum()
outer.backward()
weights["inner.bias"].grad
outer.grad_fn

# Names that are missing, unknown, or given twice.
functional_call(model, {"nope": x}, x).shape
hasattr(model, "nope")  # False
functional_call(model, {"nope.weight": x}, x)  # raises AttributeError
functional_call(model, {"inner.weight": 3.0}, x)  # raises TypeError
functional_call(model, weights, x, strict=True)  # raises RuntimeError
functional_call(model, {**state, "more": x}, x, strict=True)  # raises RuntimeError
functional_call(model, (weights, {"count": torch.ones(())}), x)
functional_call(model, (weights, weights), x)  # raises ValueError
functional_call(model, [weights, 3], x)  # raises ValueError
functional_call(model, 3, x)  # raises ValueError


# One tensor under two names.
class Tied(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Parameter(torch.ones(()))
        self.second = self.first

    def forward(self, x):
        return x + self.first + 10 * self.second


tied = Tied()
zero, two = torch.zeros(()), torch.full((), 2.0)
functional_call(tied, {"first": zero}, two)
functional_call(tied, {"first": zero}, two, tie_weights=False)
functional_call(tied, {"first": zero, "second": two}, two)  # raises ValueError
functional_call(tied, {"first": zero, "second": two}, two, tie_weights=False)
tied.first is tied.second  # True
stateless.functional_call(tied, {"first": zero}, two)  # warns FutureWarning


# With parametrised weights: their originals have names of their own.
class Doubled(nn.Module):
    def forward(self, w):
        return 2 * w


layer = nn.Linear(2, 1, bias=False)
parametrize.register_parametrization(layer, "weight", Doubled())
row = torch.tensor([[1.0, 3.0]], requires_grad=True)
made = functional_call(layer, {"parametrizations.weight.original": row}, x)
made
made.backward()
row.grad

# Several models side by side.
models = [nn.BatchNorm1d(2) for _ in range(3)]
parameters, buffers = stack_module_state(models)
{name: (p.shape, p.is_leaf, p.requires_grad) for name, p in parameters.items()}
{name: b.shape for name, b in buffers.items()}
stack_module_state([])  # raises RuntimeError
stack_module_state([models[0], nn.Linear(2, 2)])  # raises RuntimeError
models[0].eval()
stack_module_state(models)  # raises RuntimeError
