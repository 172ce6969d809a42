"""Modules and parameters in lists and dictionaries: what can be put in, taken out and asked for."""

from collections import OrderedDict

import torch
from torch import nn

stack = nn.Sequential(OrderedDict(first=nn.Linear(1, 2), second=nn.ReLU(), third=nn.Linear(2, 1)))
repr(stack.pop(1))
list(stack.state_dict())
stack[0] = nn.Linear(1, 2, bias=False)
[name for name, _ in stack.named_parameters()]
layers = nn.ModuleList([nn.Linear(1, 1), nn.Tanh(), nn.Linear(1, 1)])
repr(layers.pop(1)), len(layers)
layers.pop(-1)
repr(layers)
layers[3]  # raises IndexError

table = nn.ModuleDict([("b", nn.Identity()), ("a", nn.Tanh())])
list(table)
table.update({"c": nn.ReLU()})
repr(table.pop("b")), list(table.keys())
table.update(3)  # raises TypeError
table.update([3])  # raises TypeError
table.update([("x", nn.ReLU(), 1)])  # raises ValueError
table.update(nn.ModuleDict({"z": nn.ReLU(), "y": nn.ReLU()}))
list(table)
table.clear()
len(table)

# A dictionary of parameters sorts the names of a plain mapping.
parameters = nn.ParameterDict({"w": torch.ones(2), "b": torch.zeros(1)})
list(parameters)
parameters.update(OrderedDict(z=torch.ones(1), y=torch.ones(1)))
list(parameters), list(reversed(parameters))
parameters["n"] = 3
parameters["n"], [name for name, _ in parameters.named_parameters()]
repr(parameters.pop("n")), parameters.get("n", 5), parameters.get("w").requires_grad
known = parameters["w"]
parameters.setdefault("w", torch.zeros(2)) is known, parameters.setdefault("v", torch.ones(1))
last, value = parameters.popitem()
last, value
other = parameters.copy()
other["w"] is known
joined = parameters | nn.ParameterDict({"more": torch.ones(1)})
list(joined), list(parameters)
[p.shape for p in parameters.fromkeys(["p", "q"], torch.ones(3)).values()]
parameters(1)  # raises RuntimeError
parameters.update(3)  # raises TypeError
parameters.update([("a",)])  # raises ValueError
parameters.clear()
len(parameters), list(parameters.parameters())
(joined["w"] * 2).sum().backward()
known.grad
