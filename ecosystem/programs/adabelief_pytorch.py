"""adabelief-pytorch: an optimizer."""

import torch
from adabelief_pytorch import AdaBelief


def stepped(**options):
    model = torch.nn.Linear(3, 2)
    optimizer = AdaBelief(model.parameters(), lr=0.01, print_change_log=False, **options)
    x = torch.randn(4, 3)
    for _ in range(6):
        optimizer.zero_grad()
        model(x).square().sum().backward()
        optimizer.step()
    return tuple(model.parameters())


def case_rectified():
    return stepped(rectify=True)


def case_plain():
    return stepped(rectify=False, weight_decouple=True, weight_decay=0.1)


def case_amsgrad():
    return stepped(rectify=False, amsgrad=True)
