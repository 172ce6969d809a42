"""ema-pytorch: averages of a model over its training, by operators over lists."""

import torch
from ema_pytorch import EMA


def trained(**options):
    net = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.BatchNorm1d(4), torch.nn.Tanh())
    ema = EMA(net, beta=0.9, update_after_step=1, update_every=1, **options)
    optimizer = torch.optim.SGD(net.parameters(), 0.1)
    for _ in range(5):
        optimizer.zero_grad()
        net(torch.randn(5, 3)).square().sum().backward()
        optimizer.step()
        ema.update()
    text = torch.tensor([*repr(ema).encode()])
    return ema, [*ema.state_dict().values(), ema(torch.randn(2, 3)), text]


def case_average():
    return trained(power=3 / 4)[1]


def case_lists():
    return trained(use_foreach=True)[1]


def case_copies():
    ema, _ = trained(update_model_with_ema_every=2, update_model_with_ema_beta=0.5)
    other = EMA(torch.nn.Sequential(*ema.ema_model), beta=0.9)
    ema.copy_params_from_model_to_ema()
    ema.update_model_with_ema()
    return *ema.state_dict().values(), *other.state_dict().values()
