"""schedulefree: optimizers of two sequences of weights, between which they switch."""

import copy

import schedulefree
import torch
from torch import nn


def trained(make, steps=5):
    model = nn.Sequential(nn.Linear(3, 5), nn.Tanh(), nn.Linear(5, 2))
    optimizer = make(model.parameters())
    x, y = torch.randn(6, 3), torch.randn(6, 2)
    losses = []
    optimizer.train()
    for _ in range(steps):
        optimizer.zero_grad()
        loss = (model(x) - y).square().mean()
        loss.backward()
        optimizer.step()
        losses.append(loss.detach())
    fast = [p.detach().clone() for p in model.parameters()]
    state = copy.deepcopy(optimizer.state_dict())
    optimizer.eval()
    again = make(model.parameters())
    again.load_state_dict(state)
    kept = [v for s in state["state"].values() for v in s.values() if torch.is_tensor(v)]
    text = torch.tensor(list(repr(again).encode()))
    return *losses, *fast, *model.parameters(), *kept, text


def case_adamw():
    return trained(
        lambda p: schedulefree.AdamWScheduleFree(p, lr=0.01, warmup_steps=2, weight_decay=0.1)
    )


def case_adamw_one_by_one():
    return trained(lambda p: schedulefree.AdamWScheduleFree(p, lr=0.01, foreach=False, r=1.0))


def case_sgd():
    return trained(lambda p: schedulefree.SGDScheduleFree(p, lr=0.1, momentum=0.8))


def case_radam():
    return trained(lambda p: schedulefree.RAdamScheduleFree(p, lr=0.01, silent_sgd_phase=False), 8)


def case_reference():
    return trained(lambda p: schedulefree.SGDScheduleFreeReference(p, lr=0.1))


def case_wrapper():
    layer = nn.Linear(3, 2)
    base = torch.optim.SGD(layer.parameters(), lr=0.1)
    optimizer = schedulefree.ScheduleFreeWrapper(base, momentum=0.9, weight_decay_at_y=0.1)
    optimizer.train()
    x = torch.randn(5, 3)
    for _ in range(4):
        optimizer.zero_grad()
        layer(x).square().mean().backward()
        optimizer.step()
    fast = [p.detach().clone() for p in layer.parameters()]
    optimizer.eval()
    return *fast, *layer.parameters()


def case_closure():
    layer = nn.Linear(3, 2)
    optimizer = schedulefree.AdamWScheduleFreeClosure(layer.parameters(), lr=0.01)
    x = torch.randn(5, 3)

    def closure():
        optimizer.zero_grad()
        loss = layer(x).square().mean()
        loss.backward()
        return loss

    return *(optimizer.step(closure).detach() for _ in range(4)), *layer.parameters()
