"""The older normalisations of weights: hooks before each call, and states that know their version."""

import warnings

import torch
from torch import nn
from torch.nn.utils import parametrizations as modern
from torch.nn.utils import (
    remove_spectral_norm,
    remove_weight_norm,
    spectral_norm,
    weight_norm,
)

torch.manual_seed(37)

# Weight normalisation: the weight is an attribute, recomputed by each call.
layer = weight_norm(nn.Linear(2, 3))  # warns FutureWarning
repr(layer)
list(layer.state_dict())
layer.weight
type(layer.weight).__name__
weight_norm(layer)  # raises RuntimeError
x = torch.randn(4, 2)
layer(x).sum().backward()
layer.weight_g.grad, layer.weight_v.grad
with torch.no_grad():
    layer.weight_g.mul_(2.0)

before = layer.weight
layer(x)
layer.weight / before
remove_weight_norm(layer)
layer.weight.is_leaf, type(layer.weight).__name__
remove_weight_norm(layer)  # raises ValueError
[name for name, _ in layer.named_parameters()]

# Its state fits the parametrisation that follows it.
old = weight_norm(nn.Linear(2, 3))
new = modern.weight_norm(nn.Linear(2, 3))
new.load_state_dict(old.state_dict())
torch.equal(old.weight, new.weight)  # True
old.load_state_dict(new.state_dict())  # raises RuntimeError

# Spectral normalisation, which remembers its singular vectors.
layer = spectral_norm(nn.Linear(4, 3), n_power_iterations=2)
repr(layer)
list(layer.state_dict())
layer.weight.grad_fn is None
layer(torch.randn(2, 4)).sum().backward()
layer.weight.grad_fn
layer.weight_orig.grad
layer.weight_u, layer.weight_v
spectral_norm(layer)  # raises RuntimeError
spectral_norm(nn.Linear(2, 2), n_power_iterations=0)  # raises ValueError
spectral_norm(nn.Linear(2, 2, bias=False), "bias")  # raises ValueError

# Two passes, one backward each: the vectors that the first has saved are its own.
real, fake = layer(torch.ones(1, 4)), layer(torch.zeros(1, 4))
(real - fake).sum().backward()
layer.eval()
layer(torch.ones(1, 4))
kept = layer.weight_u.clone()
layer(torch.ones(1, 4))
torch.equal(kept, layer.weight_u)  # True

# A state says how it was made; an older one is completed.
state = layer.state_dict()
state._metadata
other = spectral_norm(nn.Linear(4, 3), n_power_iterations=2)
other.load_state_dict(state)
torch.equal(other.weight_v, layer.weight_v)
older = {name: value for name, value in state.items() if name != "weight_v"}
older["weight"] = layer.weight.detach()
other.load_state_dict(older)
torch.allclose(other.weight_v, layer.weight_v, atol=1e-3)
other.load_state_dict({"bias": state["bias"]})  # raises RuntimeError
convolution = spectral_norm(nn.ConvTranspose1d(2, 3, 2))
convolution.weight_u.shape, convolution.weight_v.shape
remove_spectral_norm(layer)
list(layer.state_dict())
layer.state_dict()._metadata
remove_spectral_norm(layer)  # raises ValueError


# Hooks around states, and what a module adds to its own.
class Counter(nn.Module):
    _version = 3

    def __init__(self):
        super().__init__()
        self.count = 0
        self.weight = nn.Parameter(torch.ones(2))

    def get_extra_state(self):
        return {"count": self.count}

    def set_extra_state(self, state):
        self.count = state["count"]


counter = Counter()
counter.count = 5
events = []
counter.register_state_dict_pre_hook(lambda m, prefix, keep: events.append((prefix, keep)))
handle = counter.register_state_dict_post_hook(lambda m, s, prefix, meta: events.append(meta))
counter.register_load_state_dict_pre_hook(lambda m, s, *rest: events.append(sorted(s)))
counter.register_load_state_dict_post_hook(lambda m, keys: events.append(keys))
state = counter.state_dict()
state
counter.count = 0
counter.load_state_dict(state)
counter.count
events
handle.remove()
nn.Linear(1, 1).load_state_dict(state)  # raises RuntimeError
counter.load_state_dict({"weight": torch.zeros(2)})  # raises RuntimeError
counter.register_load_state_dict_post_hook(lambda m, keys: keys.missing_keys.clear())
counter.load_state_dict({"weight": torch.zeros(2)})
nn.Module().get_extra_state()  # raises RuntimeError
with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    inner = nn.Sequential(counter).state_dict({}, "top.")

list(inner)
