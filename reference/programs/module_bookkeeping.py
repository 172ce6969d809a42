"""What a module knows by name: parameters, buffers, modules, states, modes, and what it refuses."""

import copy

import torch
from torch import nn

m = nn.Module()
m.a = nn.Parameter(torch.ones(2))
m.a = torch.ones(2)  # raises TypeError
m.b = torch.ones(2)
m.register_parameter("b", nn.Parameter(torch.ones(1)))  # raises KeyError
m.register_parameter("x.y", None)  # raises KeyError
m.register_parameter("", None)  # raises KeyError
m.register_parameter("c", torch.ones(1))  # raises TypeError
m.register_parameter("c", None)
m.register_parameter("h", m.a * 2)  # raises TypeError
m.register_buffer("d", torch.zeros(1), persistent=False)
m.register_buffer("e", torch.arange(2.0))
m.register_buffer("e", 3)  # raises TypeError
m.d = 2  # raises TypeError
m.d = torch.ones(3)
m.sub = nn.Linear(1, 1)
m.sub = 3  # raises TypeError
m.add_module("q", 3)  # raises TypeError
m(1)  # raises NotImplementedError
m.nope  # raises AttributeError
[name for name, _ in m.named_parameters()]
[name for name, _ in m.named_buffers()]
[name for name, _ in m.named_modules()]
list(m.state_dict())
del m.a
list(m.state_dict())
m.get_submodule("sub") is m.sub  # True
m.get_submodule("nope")  # raises AttributeError
m.get_parameter("sub.weight").shape
m.get_parameter("sub.nope")  # raises AttributeError
m.get_buffer("e")


# Before its parent is initialised, nothing can be assigned.
class Hasty(nn.Module):
    def __init__(self):
        self.x = nn.Parameter(torch.ones(1))


Hasty()  # raises AttributeError

# Conversions keep the parameter and replace its data.
weight = m.sub.weight
m.to(torch.int64)  # raises TypeError
m.to(torch.float16).sub.weight is weight
weight.dtype
m.float()
m.train("no")  # raises ValueError
m.eval().training
[child.training for child in m.children()]
m.apply(lambda module: module.register_buffer("seen", torch.ones(()))) is m
[name for name, _ in m.named_buffers()]

# Containers.
s = nn.Sequential(nn.Linear(1, 2), nn.ReLU())
s[5]  # raises IndexError
s[-1]
len(s[0:1])
s.append(nn.Linear(2, 1))
s
layers = nn.ModuleList([nn.Linear(1, 1)])
layers.extend([nn.Tanh(), nn.Linear(1, 1)])
layers.insert(0, nn.Identity())
[name for name, _ in layers.named_modules()]
table = nn.ModuleDict({"x": nn.Linear(1, 1)})
table["y"] = nn.Identity()
list(table)
several = nn.ParameterList([torch.ones(1), torch.zeros(2)])
[type(p).__name__ for p in several]
named = nn.ParameterDict({"x": torch.ones(1)})
list(named.state_dict())

# A shared module is one module with two names.
shared = nn.Sequential(layers[1], nn.Tanh(), layers[1])
len(list(shared.parameters()))
list(shared.state_dict())

# States.
first, second = nn.Linear(2, 2), nn.Linear(2, 2)
result = second.load_state_dict(first.state_dict())
torch.equal(first.weight, second.weight)  # True
first.state_dict()["weight"].requires_grad  # False
first.state_dict()["weight"].data_ptr() == first.weight.data_ptr()  # True
first.load_state_dict(3)  # raises TypeError
first.load_state_dict({"weight": torch.zeros(1, 2)})  # raises RuntimeError
first.load_state_dict({"bias": torch.ones(2), "other": torch.ones(2)})  # raises RuntimeError
first.load_state_dict({"bias": torch.ones(2), "other": torch.ones(2)}, strict=False)
first.bias
replaced = first.bias
first.load_state_dict(second.state_dict(), assign=True)
first.bias is replaced  # False
first.bias.requires_grad

# Copies: values and flags, but no gradients.
first.weight.requires_grad_(False)
first(torch.ones(1, 2)).sum().backward()
twin = copy.deepcopy(first)
[p.requires_grad for p in twin.parameters()]
[p.grad is None for p in twin.parameters()]
first.zero_grad(set_to_none=False)
first.bias.grad
first.zero_grad()
first.bias.grad
