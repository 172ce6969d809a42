"""Hooks on every module, on names, and the older kind on the backward pass; modules put elsewhere."""

import torch
from torch import nn
from torch.nn.modules import module as everywhere

torch.manual_seed(61)

model = nn.Sequential(nn.Linear(2, 3), nn.Tanh(), nn.Linear(3, 1))
x = torch.randn(4, 2).requires_grad_()
events = []


def named(module):
    return type(module).__name__


# Around every call, and before those of the module itself.
handles = [
    everywhere.register_module_forward_pre_hook(lambda m, args: events.append(("in", named(m)))),
    everywhere.register_module_forward_hook(lambda m, args, out: events.append(("out", named(m)))),
    model[1].register_forward_pre_hook(lambda m, args: events.append("own")),
]
y = model(x)
events
events.clear()
handles.append(
    everywhere.register_module_full_backward_hook(
        lambda m, into, out: events.append((named(m), [g.shape for g in into], out[0].sum()))
    )
)
handles.append(
    everywhere.register_module_full_backward_pre_hook(
        lambda m, out: events.append(("first", named(m)))
    )
)
model(x).sum().backward()
events
x.grad
everywhere.register_module_backward_hook(print)  # raises RuntimeError
for handle in handles:
    handle.remove()

events.clear()
model(x), events
doubling = everywhere.register_module_forward_hook(
    lambda m, args, kwargs, out: out * 2, with_kwargs=True
)
model[1](torch.ones(1))
doubling.remove()

# When something gets a name.
watching = [
    everywhere.register_module_parameter_registration_hook(
        lambda m, name, p: events.append((name, p.shape))
    ),
    everywhere.register_module_buffer_registration_hook(
        lambda m, name, b: None if b is None else b + 1
    ),
    everywhere.register_module_module_registration_hook(
        lambda m, name, child: events.append((name, named(child)))
    ),
]
norm = nn.Sequential(nn.BatchNorm1d(2))
events
norm[0].running_mean, norm[0].num_batches_tracked
for handle in watching:
    handle.remove()

# The older hooks see the last node, whatever the module did before.
seen = []
scale = nn.Tanh()
scale.register_backward_hook(lambda m, into, out: seen.append((len(into), out[0])))
scale(x).sum().backward()
seen
scale.register_full_backward_hook(print)  # raises RuntimeError
layer = nn.Linear(2, 3)
layer.register_backward_hook(lambda m, into, out: seen.append([g is None for g in into]))
layer(x).sum().backward()  # warns FutureWarning
seen[-1]


class Pair(nn.Module):
    def forward(self, a, b):
        return a * b, a + b


pair = Pair()
pair.register_backward_hook(lambda m, into, out: tuple(None if g is None else 2 * g for g in into))
p, q = torch.ones(2, requires_grad=True), torch.ones(2, requires_grad=True)
product, total = pair(p, q)  # warns FutureWarning
product.sum().backward()
p.grad, q.grad
full = nn.ReLU()
full.register_full_backward_hook(lambda m, into, out: (into[0] * 10,))
full.register_backward_hook(print)  # raises RuntimeError
full(x).sum().backward()

# A module in the place of another one.
model.set_submodule("1", nn.Sigmoid())
repr(model)
model.set_submodule("3", nn.Identity())
model.set_submodule("9", nn.Identity(), strict=True)  # raises AttributeError
model.set_submodule("0.weight", nn.Identity())  # raises AttributeError
model.set_submodule("", nn.Identity())  # raises ValueError
model.set_submodule("1", 3)  # raises ValueError
[name for name, _ in model.named_children()]
model.to_empty(device="cpu") is model
[p.shape for p in model.parameters()]
