"""Learning rates over a training: schedules by themselves, chained, in sequence and in cycles."""

import torch
from torch.optim import lr_scheduler as schedules

w = torch.nn.Parameter(torch.tensor([1.0, -2.0]))
v = torch.nn.Parameter(torch.tensor(3.0))


def made(kind=torch.optim.SGD, **settings):
    """An optimizer of two groups with rates 0.1 and 1."""
    return kind([{"params": [w]}, {"params": [v], "lr": 1.0}], lr=0.1, **settings)


def rates(schedule, epochs, *measured):
    """The rates that each epoch sets."""
    found = []
    for epoch in range(epochs):
        schedule.optimizer.step()
        schedule.step(*(m[epoch] for m in measured))
        found.append(tuple(schedule.get_last_lr()))
    return found


rates(schedules.ConstantLR(made(), factor=0.5, total_iters=2), 4)
rates(schedules.LinearLR(made(), start_factor=0.25, end_factor=0.75, total_iters=3), 5)
rates(schedules.PolynomialLR(made(), total_iters=4, power=2.0), 6)
rates(schedules.CosineAnnealingWarmRestarts(made(), T_0=2, T_mult=2, eta_min=0.01), 7)
rates(schedules.CyclicLR(made(momentum=0.9), 0.01, [0.1, 0.5], step_size_up=2, step_size_down=3), 7)
schedules.ConstantLR(made(), factor=2.0)  # raises ValueError
schedules.LinearLR(made(), start_factor=0.0)  # raises ValueError
schedules.LinearLR(made(), end_factor=-1.0)  # raises ValueError
schedules.CosineAnnealingWarmRestarts(made(), T_0=0)  # raises ValueError
schedules.CosineAnnealingWarmRestarts(made(), T_0=1, T_mult=0)  # raises ValueError
schedules.StepLR(w, 1)  # raises TypeError

# Cycles take the momentum along, or the first beta.
optimizer = made(momentum=0.9)
cyclic = schedules.CyclicLR(optimizer, 0.01, 0.1, step_size_up=2, mode="triangular2")
found = []
for _ in range(6):
    optimizer.step()
    cyclic.step()
    found.append([(group["lr"], group["momentum"]) for group in optimizer.param_groups])

found
rates(schedules.CyclicLR(made(torch.optim.Adam), 0.1, 0.2, 2, mode="exp_range", gamma=0.9), 5)
flat = schedules.CyclicLR(made(), 0.1, 0.2, 2, scale_fn=lambda x: 0.5, cycle_momentum=False)
rates(flat, 3)
schedules.CyclicLR(made(torch.optim.Adagrad), 0.1, 0.2)  # raises ValueError
schedules.CyclicLR(made(momentum=0.5), 0.1, 0.2, mode="square")  # raises ValueError
schedules.CyclicLR(made(momentum=0.5), [0.1], 0.2)  # raises ValueError
adam = made(torch.optim.Adam)
once = schedules.OneCycleLR(adam, max_lr=[0.5, 2.0], total_steps=6)
rates(once, 5), adam.param_groups[0]["betas"], adam.param_groups[1]["min_lr"]
once.step()
once.step()  # raises ValueError
three = schedules.OneCycleLR(
    made(momentum=0.5), 1.0, epochs=2, steps_per_epoch=5, three_phase=True, anneal_strategy="linear"
)
rates(three, 9)
schedules.OneCycleLR(made(momentum=0.5), 1.0)  # raises ValueError
schedules.OneCycleLR(made(momentum=0.5), 1.0, total_steps=-1)  # raises ValueError
schedules.OneCycleLR(made(momentum=0.5), 1.0, 5, pct_start=2.0)  # raises ValueError
schedules.OneCycleLR(made(momentum=0.5), 1.0, 5, anneal_strategy="exp")  # raises ValueError

# Warming up, then cooling down; and two at once.
optimizer = made()
warm = schedules.LinearLR(optimizer, start_factor=0.1, total_iters=3)
cool = schedules.ExponentialLR(optimizer, gamma=0.5)
both = schedules.SequentialLR(optimizer, [warm, cool], milestones=[3])
both.get_last_lr()
rates(both, 6)
state = both.state_dict()
sorted(state), state["_schedulers"][1]["last_epoch"]
optimizer = made()
parts = [schedules.StepLR(optimizer, 2), schedules.ConstantLR(optimizer, 0.5, 3)]
chained = schedules.ChainedScheduler(parts)
rates(chained, 5)
chained.state_dict()["_last_lr"]
schedules.SequentialLR(optimizer, [], [])  # raises ValueError
schedules.SequentialLR(optimizer, parts, [1, 2])  # raises ValueError
schedules.SequentialLR(made(), parts, [1])  # raises ValueError
schedules.ChainedScheduler([])  # raises ValueError
schedules.ChainedScheduler([parts[0], 3])  # raises TypeError

# As long as something gets better.
losses = [1.0, 0.9, 0.95, 0.93, 0.92, 0.5, 0.6, 0.7, 0.8, 0.9]
plateau = schedules.ReduceLROnPlateau(made(), factor=0.5, patience=1, min_lr=[0.03, 0.0])
rates(plateau, 10, losses)
plateau.best, plateau.num_bad_epochs, plateau.in_cooldown
rising = schedules.ReduceLROnPlateau(
    made(), "max", 0.1, 0, threshold=0.05, threshold_mode="abs", cooldown=2
)
rates(rising, 10, [torch.tensor(value) for value in losses])
rising.load_state_dict(plateau.state_dict())
rising.mode, rising.threshold_mode
schedules.ReduceLROnPlateau(made(), factor=1.0)  # raises ValueError
schedules.ReduceLROnPlateau(made(), "least")  # raises ValueError
schedules.ReduceLROnPlateau(made(), min_lr=[0.1])  # raises ValueError
schedules.ChainedScheduler([plateau])  # raises ValueError

# A schedule goes on from its state; epochs that are given are deprecated, and in closed form.
optimizer = made()
first = schedules.MultiStepLR(optimizer, [1, 3], gamma=0.5)
rates(first, 2)
state = first.state_dict()
second = schedules.MultiStepLR(optimizer, [1, 3], gamma=0.5)
second.load_state_dict(state)
rates(second, 2)
second.step(1)  # warns UserWarning
second.get_last_lr()
jumping = schedules.CosineAnnealingWarmRestarts(made(), T_0=2, T_mult=3)
jumping.step(4.5)
jumping.get_last_lr(), jumping.T_i, jumping.T_cur
jumping.step(-1)  # raises ValueError
early = schedules.PolynomialLR(made())
early.step()  # warns UserWarning
early.get_lr()  # warns UserWarning
schedules.StepLR(torch.optim.SGD([w]), 1, last_epoch=3)  # raises KeyError

# A rate that is a tensor is changed in place.
rate = torch.tensor(0.5)
optimizer = torch.optim.SGD([w], lr=rate)
halving = schedules.ExponentialLR(optimizer, 0.5)
optimizer.step()
halving.step()
optimizer.param_groups[0]["lr"] is rate, rate, optimizer.param_groups[0]["initial_lr"]
