"""A classifier trained with momentum, a schedule and hooks, then resumed from its saved state.

After each epoch the parameters, their gradients and the optimizer's buffers are looked at. A second
model that is restored from the state of the first goes on exactly as the first does.
"""

import copy
import math

import torch
from torch import nn
from torch.nn import functional as F

torch.manual_seed(7)
angles = torch.rand(24) * 2 * math.pi
ring = torch.arange(24) % 3
points = torch.stack([angles.cos(), angles.sin()], 1) * (1 + ring).unsqueeze(1)
points = points + 0.05 * torch.randn(24, 2)


class Classifier(nn.Module):
    def __init__(self, hidden=8, classes=3):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(2, hidden), nn.Tanh(), nn.Linear(hidden, hidden))
        self.head = nn.Linear(hidden, classes)
        self.register_buffer("steps", torch.zeros((), dtype=torch.int64))

    def forward(self, x):
        if self.training:
            self.steps += 1
        return self.head(F.relu(self.body(x)))


model = Classifier()
names = [name for name, _ in model.named_parameters()]
parameters = list(model.parameters())
count = sum(p.numel() for p in parameters)

optimizer = torch.optim.SGD(
    model.parameters(), lr=0.1, momentum=0.9, weight_decay=1e-3, nesterov=True
)
schedule = torch.optim.lr_scheduler.StepLR(optimizer, step_size=2, gamma=0.5)

# Hooks that only look on: activations and the gradients that come back to the head.
seen = {}


def note_activation(module, inputs, output):
    seen["activation"] = output.detach().mean()


def note_gradient(module, grad_input, grad_output):
    seen["gradient"] = grad_output[0].abs().sum()


forward_handle = model.body.register_forward_hook(note_activation)
backward_handle = model.head.register_full_backward_hook(note_gradient)

# The first step by hand, statement by statement.
logits = model(points)
loss = F.cross_entropy(logits, ring)
optimizer.zero_grad()
loss.backward()
norm = nn.utils.clip_grad_norm_(model.parameters(), max_norm=1.0)
optimizer.step()
schedule.step()
momentum = [optimizer.state[p]["momentum_buffer"] for p in parameters]
seen


def epoch(model, optimizer, batch=8):
    total = 0.0
    for start in range(0, len(points), batch):
        x, y = points[start : start + batch], ring[start : start + batch]
        optimizer.zero_grad()
        loss = F.cross_entropy(model(x), y)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), max_norm=1.0)
        optimizer.step()
        total += loss.item() * len(x)
    return total / len(points)


losses = []
rates = []
for _ in range(3):
    losses.append(epoch(model, optimizer))
    rates.append(schedule.get_last_lr()[0])
    schedule.step()

forward_handle.remove()
backward_handle.remove()
last_seen = dict(seen)

# A checkpoint, and a second model that starts where it was taken.
checkpoint = {
    "model": copy.deepcopy(model.state_dict()),
    "optimizer": copy.deepcopy(optimizer.state_dict()),
    "schedule": schedule.state_dict(),
}
saved_names = list(checkpoint["model"])
resumed = Classifier()
missing, unexpected = resumed.load_state_dict(checkpoint["model"])
resumed_optimizer = torch.optim.SGD(resumed.parameters(), lr=1.0, momentum=0.9)
resumed_optimizer.load_state_dict(checkpoint["optimizer"])
group = {k: v for k, v in resumed_optimizer.param_groups[0].items() if k in ("lr", "momentum")}

on = epoch(model, optimizer)
again = epoch(resumed, resumed_optimizer)
same = all(torch.equal(a, b) for a, b in zip(model.parameters(), resumed.parameters()))

model.eval()
with torch.no_grad():
    predictions = model(points)
    margin = predictions.topk(2, dim=1).values
steps = model.steps
still_recorded = predictions.requires_grad

try:
    resumed.load_state_dict({"head.weight": torch.zeros(3, 9), "extra": torch.zeros(1)})
except RuntimeError as error:
    refusal = str(error)
