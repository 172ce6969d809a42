"""torch-optimizer: a collection of optimizers."""

import torch
import torch_optimizer


def stepped(name, **options):
    model = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.Tanh(), torch.nn.Linear(4, 1))
    optimizer = getattr(torch_optimizer, name)(model.parameters(), **options)
    x = torch.randn(8, 3)
    for _ in range(5):
        optimizer.zero_grad()
        model(x).square().mean().backward(create_graph=name == "Adahessian")
        optimizer.step()
    return tuple(model.parameters())


NAMES = (
    "AccSGD",
    "AdaBound",
    "AdaMod",
    "AdamP",
    "AggMo",
    "Apollo",
    "DiffGrad",
    "Lamb",
    "MADGRAD",
    "NovoGrad",
    "PID",
    "QHAdam",
    "QHM",
    "RAdam",
    "SGDP",
    "SGDW",
    "SWATS",
    "Yogi",
    "Ranger",
    "A2GradExp",
    "Adafactor",
    "Adahessian",
    "LARS",
    "Shampoo",
)
for _name in NAMES:
    globals()[f"case_{_name}"] = lambda name=_name: stepped(name)
