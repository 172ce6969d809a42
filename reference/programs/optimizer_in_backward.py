"""Gradients that are used as they arrive: hooks on leaves, on tensors, on modules and on nodes."""

import torch
from torch import nn

torch.manual_seed(43)
torch.set_default_dtype(torch.float64)
model = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 2))
twin = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 2))
twin.load_state_dict(model.state_dict())
x = torch.randn(5, 3)

# A step per parameter, taken as soon as its gradient is complete; the gradient is then dropped.
order = []


def step_at_once(parameter):
    order.append(tuple(parameter.shape))
    with torch.no_grad():
        parameter -= 0.1 * parameter.grad
    parameter.grad = None


handles = [p.register_post_accumulate_grad_hook(step_at_once) for p in model.parameters()]
model(x).square().sum().backward()
order
[p.grad for p in model.parameters()]

# The same as an ordinary step afterwards.
optimizer = torch.optim.SGD(twin.parameters(), lr=0.1)
twin(x).square().sum().backward()
optimizer.step()
all(torch.allclose(a, b) for a, b in zip(model.parameters(), twin.parameters()))  # True
for handle in handles:
    handle.remove()

# Hooks that change gradients: on a leaf before it accumulates, on an activation on the way.
optimizer.zero_grad()
handle = twin[0].weight.register_hook(lambda grad: grad.clamp(-0.1, 0.1))
hidden = twin[:2](x)
hidden.register_hook(lambda grad: grad * 2)
hidden.retain_grad()
twin[2](hidden).sum().backward()
twin[0].weight.grad
hidden.grad
handle.remove()

# Module hooks: inputs changed before, outputs after, gradients in both directions.
log = []


def before(module, inputs):
    log.append(("before", inputs[0].shape))
    return (inputs[0] + 1,)


def after(module, inputs, output):
    log.append(("after", output.requires_grad))
    return output * 2


def entering(module, grad_output):
    log.append(("entering", grad_output[0].shape))
    return (grad_output[0] * 3,)


def leaving(module, grad_input, grad_output):
    log.append(("leaving", [g is None for g in grad_input]))


layer = nn.Linear(3, 2)
layer.register_forward_pre_hook(before)
layer.register_forward_hook(after)
layer.register_full_backward_pre_hook(entering)
layer.register_full_backward_hook(leaving)
y = x.clone().requires_grad_()
out = layer(y)
out.sum().backward()
log
y.grad
layer.weight.grad
log.clear()
layer(x).sum().backward()
log

# Gradient reversal: a feature that a discriminator cannot use.
features = nn.Linear(3, 2)
task, domain = nn.Linear(2, 1), nn.Linear(2, 1)
f = features(x)
reversed_f = f.clone()
reversed_f.register_hook(torch.neg)
(task(f).sum() + domain(reversed_f).sum()).backward()
torch.allclose(features.bias.grad, 5 * (task.weight - domain.weight).detach().view(-1))

# Hooks on nodes see what a tensor's hooks see, tuple by tuple.
node_log = []
product = (y * 2).sigmoid()
product.grad_fn.register_prehook(lambda grads: node_log.append(("pre", len(grads))))
product.grad_fn.register_hook(lambda ins, outs: node_log.append(("post", len(ins), len(outs))))
product.sum().backward()
node_log

# Frozen layers pass gradients on and get none; a change of mind costs nothing.
model[0].requires_grad_(False)
z = x.clone().requires_grad_()
model(z).sum().backward()
model[0].weight.grad
z.grad
model[0].requires_grad_(True)
