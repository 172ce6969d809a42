"""The average of a training's weights: equal or fading, with buffers, and its learning rates."""

import torch
from torch import nn
from torch.optim import swa_utils

torch.manual_seed(67)

model = nn.Sequential(nn.Linear(2, 3), nn.BatchNorm1d(3), nn.Linear(3, 1))
averaged = swa_utils.AveragedModel(model)
list(averaged.state_dict())
averaged.n_averaged
x, y = torch.randn(8, 2), torch.randn(8, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.2)
schedule = swa_utils.SWALR(optimizer, swa_lr=0.05, anneal_epochs=2, anneal_strategy="linear")
rates = []
for _ in range(4):
    optimizer.zero_grad()
    nn.functional.mse_loss(model(x), y).backward()
    optimizer.step()
    schedule.step()
    averaged.update_parameters(model)
    rates.append(schedule.get_last_lr()[0])

rates
sorted(schedule.state_dict())
averaged.n_averaged
[p for p in averaged.parameters()]
averaged.module[1].running_mean
swa_utils.update_bn([(x[:4], y[:4]), (x[4:], y[4:])], averaged)
averaged.module[1].running_mean, averaged.module[1].num_batches_tracked
averaged.module[1].momentum, averaged.training
averaged.eval()
averaged(x[:2])
averaged(x).sum().backward()
averaged.module[0].weight.grad, model[0].weight.grad is averaged.module[0].weight.grad

# Fading weights, one tensor after the other or all at once, with buffers or without.
fading = swa_utils.AveragedModel(model, avg_fn=swa_utils.get_ema_avg_fn(0.9))
at_once = swa_utils.AveragedModel(
    model, multi_avg_fn=swa_utils.get_ema_multi_avg_fn(0.9), use_buffers=True
)
equal = swa_utils.AveragedModel(model, multi_avg_fn=swa_utils.get_swa_multi_avg_fn())
for _ in range(3):
    with torch.no_grad():
        for p in model.parameters():
            p.add_(1.0)
    model(x)
    for each in (fading, at_once, equal):
        each.update_parameters(model)

[torch.allclose(a, b) for a, b in zip(fading.parameters(), at_once.parameters())]
fading.module[2].weight
at_once.module[1].running_var, fading.module[1].running_var
equal.module[2].bias
at_once.module[1].num_batches_tracked
swa_utils.get_swa_avg_fn()(torch.ones(2), torch.zeros(2), 3)
swa_utils.get_ema_avg_fn(2.0)  # raises ValueError
swa_utils.AveragedModel(model, avg_fn=max, multi_avg_fn=max)  # raises AssertionError

# Along a cosine, at once, and from a state.
cosine = swa_utils.SWALR(torch.optim.SGD(model.parameters(), lr=1.0), [0.1], anneal_epochs=4)
found = []
for _ in range(5):
    cosine.optimizer.step()
    cosine.step()
    found.append(cosine.get_last_lr()[0])

found
other = swa_utils.SWALR(torch.optim.SGD(model.parameters(), lr=1.0), 0.3, anneal_epochs=0)
other.get_last_lr()
other.load_state_dict(schedule.state_dict())
other.anneal_epochs, other._anneal_strategy
swa_utils.SWALR(optimizer, 0.1, anneal_strategy="square")  # raises ValueError
swa_utils.SWALR(optimizer, 0.1, anneal_epochs=-1)  # raises ValueError
swa_utils.SWALR(optimizer, [0.1, 0.2])  # raises ValueError
