"""Meta-learning: the gradient of the loss after a few steps of gradient descent, and its shortcuts.

Sine waves are fitted by a network whose initial weights are learnt so that two steps fit a wave.
"""

import torch
from torch.nn import functional as F

torch.manual_seed(5)
shapes = [(8, 1), (8,), (1, 8), (1,)]
weights = [(0.3 * torch.randn(*s, dtype=torch.float64)).requires_grad_() for s in shapes]


def network(x, weights):
    w1, b1, w2, b2 = weights
    return F.linear(torch.tanh(F.linear(x, w1, b1)), w2, b2)


def task():
    phase, height = torch.rand(2, dtype=torch.float64) * 3
    x = torch.linspace(-3, 3, 10, dtype=torch.float64).unsqueeze(1)
    y = height * torch.sin(x + phase)
    return (x[::2], y[::2]), (x[1::2], y[1::2])


def adapted(weights, x, y, steps, rate, create_graph):
    for _ in range(steps):
        loss = F.mse_loss(network(x, weights), y)
        slopes = torch.autograd.grad(loss, weights, create_graph=create_graph)
        weights = [w - rate * g for w, g in zip(weights, slopes)]
    return weights


# One task, by hand: the inner step is part of the graph.
support, query = task()
inner = F.mse_loss(network(support[0], weights), support[1])
inner_slopes = torch.autograd.grad(inner, weights, create_graph=True)
fast = [w - 0.1 * g for w, g in zip(weights, inner_slopes)]
outer = F.mse_loss(network(query[0], fast), query[1])
outer.backward()
exact = [w.grad.clone() for w in weights]

# First order: the slopes of the inner loss count as constants.
for w in weights:
    w.grad = None

fast = adapted(weights, *support, 1, 0.1, create_graph=False)
F.mse_loss(network(query[0], fast), query[1]).backward()
first_order = [w.grad.clone() for w in weights]
gap = [(a - b).norm() for a, b in zip(exact, first_order)]

# A batch of tasks and two inner steps, with an ordinary optimizer outside.
optimizer = torch.optim.Adam(weights, lr=0.01)
history = []
for _ in range(2):
    optimizer.zero_grad()
    total = 0.0
    for _ in range(2):
        support, query = task()
        fast = adapted(weights, *support, 2, 0.05, create_graph=True)
        loss = F.mse_loss(network(query[0], fast), query[1]) / 2
        loss.backward()
        total += loss.item()
    optimizer.step()
    history.append(total)

weights[0]

# Learnt rates: one per weight, which the inner loop is differentiated in as well.
rates = [torch.full_like(w, 0.05).requires_grad_() for w in weights]
slopes = torch.autograd.grad(
    F.mse_loss(network(support[0], weights), support[1]), weights, create_graph=True
)
fast = [w - r * g for w, r, g in zip(weights, rates, slopes)]
outer = F.mse_loss(network(query[0], fast), query[1])
rate_slopes = torch.autograd.grad(outer, rates)

# The implicit shortcut (Reptile): move towards what the task wanted.
with torch.no_grad():
    goal = [w.detach().clone().requires_grad_() for w in weights]

for _ in range(2):
    loss = F.mse_loss(network(support[0], goal), support[1])
    loss.backward()
    with torch.no_grad():
        for g in goal:
            g -= 0.05 * g.grad
            g.grad = None

with torch.no_grad():
    for w, g in zip(weights, goal):
        w.lerp_(g, 0.5)

moved = [w._version for w in weights]
