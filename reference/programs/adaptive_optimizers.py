"""One small regression under Adam, AdamW, RMSprop, Adagrad and LBFGS, with schedules and groups."""

import torch
from torch import nn

torch.manual_seed(0)
inputs = torch.linspace(-2, 2, 16, dtype=torch.float64).unsqueeze(1)
targets = torch.sin(2 * inputs)


def fresh():
    torch.manual_seed(3)
    return nn.Sequential(nn.Linear(1, 6), nn.SiLU(), nn.Linear(6, 1)).double()


def fit(model, optimizer, steps, schedule=None):
    history = []
    for _ in range(steps):
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(model(inputs), targets)
        loss.backward()
        optimizer.step()
        if schedule is not None:
            schedule.step()
        history.append(loss.item())
    return history


# Adam, one step by hand: what it keeps for a parameter, and what it adds to it.
model = fresh()
adam = torch.optim.Adam(model.parameters(), lr=0.02, betas=(0.8, 0.95))
weight = model[0].weight
before = weight.detach().clone()
nn.MSELoss()(model(inputs), targets).backward()
adam.step()
kept = adam.state[weight]
moved = weight.detach() - before
cosine = torch.optim.lr_scheduler.CosineAnnealingLR(adam, T_max=10, eta_min=1e-3)
adam_history = fit(model, adam, 10, cosine)
adam_rate = cosine.get_last_lr()

# AdamW with a group of its own for the biases, which do not decay; the rate falls by a function.
model = fresh()
biases = [p for name, p in model.named_parameters() if name.endswith("bias")]
weights = [p for name, p in model.named_parameters() if name.endswith("weight")]
adamw = torch.optim.AdamW(
    [{"params": weights}, {"params": biases, "weight_decay": 0.0, "lr": 0.05}],
    lr=0.02,
    weight_decay=0.1,
    amsgrad=True,
)
warmup = torch.optim.lr_scheduler.LambdaLR(adamw, lambda epoch: min(1.0, (epoch + 1) / 4))
adamw_history = fit(model, adamw, 6, warmup)
adamw_rates = [group["lr"] for group in adamw.param_groups]
adamw_keeps = adamw.state[biases[0]]

model = fresh()
rmsprop = torch.optim.RMSprop(model.parameters(), lr=0.01, momentum=0.5, centered=True)
exponential = torch.optim.lr_scheduler.ExponentialLR(rmsprop, gamma=0.9)
rmsprop_history = fit(model, rmsprop, 5, exponential)
rmsprop_keeps = rmsprop.state[model[2].bias]

model = fresh()
adagrad = torch.optim.Adagrad(model.parameters(), lr=0.1, lr_decay=0.01)
milestones = torch.optim.lr_scheduler.MultiStepLR(adagrad, milestones=[2, 4], gamma=0.3)
adagrad_history = fit(model, adagrad, 5, milestones)
adagrad_keeps = adagrad.state[model[2].weight]

# LBFGS evaluates the loss as often as it likes, through a closure.
model = fresh()
lbfgs = torch.optim.LBFGS(model.parameters(), lr=0.5, max_iter=4, history_size=3)
calls = 0


def closure():
    global calls
    calls += 1
    lbfgs.zero_grad()
    loss = nn.functional.mse_loss(model(inputs), targets)
    loss.backward()
    return loss


first = lbfgs.step(closure)
second = lbfgs.step(closure)
final = nn.utils.parameters_to_vector(model.parameters())

# A parameter without a gradient is left alone; closures, zero_grad and ascent are as usual.
idle = nn.Parameter(torch.ones(2))
busy = nn.Parameter(torch.ones(2))
both = torch.optim.SGD([idle, busy], lr=0.5, maximize=True)
(busy * torch.tensor([1.0, -1.0])).sum().backward()
both.step()
both.zero_grad(set_to_none=False)
torch.optim.SGD([torch.ones(1)], lr=-1.0)  # raises ValueError: Invalid learning rate: -1.0
torch.optim.SGD([], lr=0.1)  # raises ValueError
torch.optim.Adam([idle * 2], lr=0.1)  # raises ValueError
