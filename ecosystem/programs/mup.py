"""mup: initial values and rates that follow a model's width, from attributes of parameters."""

import mup
import torch
from torch import nn


def model(width=16, **options):
    def made(width):
        body = nn.Sequential(nn.Linear(3, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU())
        return body.append(mup.MuReadout(width, 2, readout_zero_init=False))

    wide = made(width)
    mup.set_base_shapes(wide, made(4), delta=made(8), **options)
    return wide


def trained(make):
    net = model()
    optimizer = make(net.parameters())
    x = torch.randn(5, 3)
    for _ in range(3):
        optimizer.zero_grad()
        net(x).square().mean().backward()
        optimizer.step()
    rates = torch.tensor([group["lr"] for group in optimizer.param_groups])
    return rates, *net.parameters()


def case_adam():
    return trained(lambda p: mup.MuAdam(p, lr=0.01))


def case_sgd():
    return trained(lambda p: mup.MuSGD(p, lr=0.1, momentum=0.9))


def case_adamw():
    return trained(lambda p: mup.MuAdamW(p, lr=0.01, weight_decay=0.1))


def case_initial_values():
    net = model()
    weight = net[2].weight
    made = []
    for draw in (mup.init.kaiming_uniform_, mup.init.kaiming_normal_, mup.init.xavier_uniform_):
        made.append(draw(weight).detach().clone())
    for draw in (mup.init.xavier_normal_, mup.init.trunc_normal_, mup.init.normal_):
        made.append(draw(weight).detach().clone())
    return made


def case_text():
    net = model()
    text = f"{net} {[p.infshape for p in net.parameters()]}"
    return torch.tensor(list(text.encode())), net(torch.ones(1, 3))
