"""lion-pytorch: an optimizer."""

import torch
from lion_pytorch import Lion


def case_steps():
    model = torch.nn.Linear(3, 2)
    optimizer = Lion(model.parameters(), lr=0.01, weight_decay=0.1)
    x = torch.randn(4, 3)
    for _ in range(4):
        optimizer.zero_grad()
        model(x).square().sum().backward()
        optimizer.step()
    return *model.parameters(), *(optimizer.state[p]["exp_avg"] for p in model.parameters())


def case_decoupled():
    x = torch.ones(3, requires_grad=True)
    optimizer = Lion([x], lr=0.01, weight_decay=0.1, decoupled_weight_decay=True)
    for _ in range(3):
        optimizer.zero_grad()
        (x**3).sum().backward()
        optimizer.step()
    return x
