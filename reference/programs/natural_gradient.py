"""The Fisher matrix, natural gradients and the gradients of single examples, several ways."""

import torch
from torch import nn
from torch.nn import functional as F

torch.manual_seed(19)
torch.set_default_dtype(torch.float64)
x = torch.randn(6, 2)
y = torch.tensor([0, 1, 2, 0, 1, 2])
model = nn.Linear(2, 3)
parameters = list(model.parameters())


def flat(tensors):
    return torch.cat([t.reshape(-1) for t in tensors])


# One backward per example.
single = []
for i in range(len(x)):
    loss = F.cross_entropy(model(x[i : i + 1]), y[i : i + 1])
    single.append(flat(torch.autograd.grad(loss, parameters)))

rows = torch.stack(single)
mean = flat(torch.autograd.grad(F.cross_entropy(model(x), y), parameters))
torch.allclose(rows.mean(0), mean)

# All at once, from what hooks catch: the layer's input and the gradient of its output.
caught = {}


def catch_input(module, inputs, output):
    caught["input"] = inputs[0].detach()


def catch_gradient(module, grad_input, grad_output):
    caught["gradient"] = grad_output[0].detach()


handles = [
    model.register_forward_hook(catch_input),
    model.register_full_backward_hook(catch_gradient),
]
F.cross_entropy(model(x), y, reduction="sum").backward()
for handle in handles:
    handle.remove()

by_example = torch.einsum("no,ni->noi", caught["gradient"], caught["input"])
hooked = torch.cat([by_example.reshape(6, -1), caught["gradient"]], 1)
torch.allclose(hooked, rows)

# And once more with a weight per example, whose gradients are the rows' products.
expanded = model.weight.detach().expand(6, 3, 2).clone().requires_grad_()
logits = torch.bmm(expanded, x.unsqueeze(2)).squeeze(2) + model.bias.detach()
F.cross_entropy(logits, y, reduction="sum").backward()
torch.allclose(expanded.grad.reshape(6, -1), rows[:, :6])

# Clipped and summed, as private training wants them.
norms = rows.norm(dim=1, keepdim=True)
clipped = rows * (0.5 / norms).clamp(max=1.0)
private = clipped.sum(0)

# The Fisher matrix of the model's own predictions: an expectation over the classes.
logits = model(x)
probabilities = logits.softmax(1)
fisher = torch.zeros(9, 9)
for n in range(len(x)):
    for k in range(3):
        score = torch.autograd.grad(logits.log_softmax(1)[n, k], parameters, retain_graph=True)
        g = flat(score)
        fisher += probabilities[n, k].detach() * torch.outer(g, g) / len(x)

torch.allclose(fisher, fisher.T)

# It is the Gauss-Newton matrix, whose products need one forward and one backward pass.
v = torch.linspace(-1, 1, 9)
dummy = torch.zeros_like(logits, requires_grad=True)
pulled = flat(torch.autograd.grad(logits, parameters, dummy, create_graph=True))
(pushed,) = torch.autograd.grad(pulled, dummy, v, retain_graph=True)
curved = probabilities * (pushed - (probabilities * pushed).sum(1, keepdim=True))
product = flat(torch.autograd.grad(logits, parameters, curved.detach(), retain_graph=True))
torch.allclose(product / len(x), fisher @ v)

# One natural step, damped, and the plain one.
damped = fisher + 1e-2 * torch.eye(9)
natural = torch.linalg.solve(damped, mean)
natural.dot(mean) > 0
before = F.cross_entropy(model(x), y).item()
with torch.no_grad():
    start = 0
    for p in parameters:
        p -= 0.5 * natural[start : start + p.numel()].view_as(p)
        start += p.numel()

after = F.cross_entropy(model(x), y).item()
after < before

# The diagonal of the empirical Fisher accumulates in place, as Adam's second moment does.
second = torch.zeros(9)
for g in rows:
    second.mul_(0.9).addcmul_(g, g, value=0.1)

second
step = mean / (second.sqrt() + 1e-8)
