"""A classifier in mixed precision: autocast, scaled losses, a Function that wants float32.

The parameters stay in float32, and so do their gradients and the optimizer's state. Gradients are
accumulated over two batches, unscaled, limited by their norm, and one step is spoiled on purpose.
"""

import torch
from torch import nn
from torch.amp import GradScaler, autocast, custom_bwd, custom_fwd
from torch.nn import functional as F

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
kind = torch.float16 if device.type == "cuda" else torch.bfloat16


class Exponential(torch.autograd.Function):
    """exp, of which half precision has too small a range."""

    @staticmethod
    @custom_fwd(device_type=device.type, cast_inputs=torch.float32)
    def forward(ctx, x):
        y = torch.exp(x)
        ctx.save_for_backward(y)
        return y

    @staticmethod
    @custom_bwd(device_type=device.type)
    def backward(ctx, grad):
        (y,) = ctx.saved_tensors
        return grad * y


class Mixture(nn.Module):
    """Experts, weighed by a gate that is computed in float32."""

    def __init__(self):
        super().__init__()
        self.norm = nn.LayerNorm(4)
        self.experts = nn.ModuleList(nn.Linear(4, 3) for _ in range(2))
        self.gate = nn.Linear(4, 2, bias=False)

    def forward(self, x):
        x = self.norm(x)
        weights = Exponential.apply(self.gate(x))
        weights = weights / weights.sum(-1, keepdim=True)
        outputs = torch.stack([F.relu(expert(x)) for expert in self.experts], -1)
        return (outputs * weights.unsqueeze(-2)).sum(-1), weights


model = Mixture().to(device)
with torch.no_grad():
    for number, parameter in enumerate(model.parameters()):
        steps = torch.arange(parameter.numel(), device=device).reshape(parameter.shape)
        parameter.copy_(((steps * 5 + number) % 7 - 3) / 4)
    model.norm.weight.fill_(1.0)
points = ((torch.arange(48, device=device) * 11) % 17).reshape(12, 4) / 8.0 - 1.0
classes = torch.arange(12, device=device) % 3

optimizer = torch.optim.SGD(model.parameters(), lr=0.25, momentum=0.5)
scaler = GradScaler(device.type, init_scale=1024.0, growth_interval=2)

# What one pass leaves: the dtypes of results, and the casts in the graph.
with autocast(device.type, dtype=kind):
    logits, weights = model(points)
    loss = F.cross_entropy(logits, classes)
dtypes = {"logits": logits.dtype, "weights": weights.dtype, "loss": loss.dtype}
gate = model.gate(points)
with autocast(device.type, dtype=kind):
    lowered = model.gate(points)
    with autocast(device.type, enabled=False):
        exact = model.gate(points)
    casts = [type(node).__name__ for node, _ in lowered.grad_fn.next_functions if node]
(gate.dtype, lowered.dtype, exact.dtype)


def step(batches, spoil=False):
    optimizer.zero_grad()
    for x, y in batches:
        with autocast(device.type, dtype=kind):
            logits, weights = model(x)
            loss = F.cross_entropy(logits, y) + 0.125 * (weights.float() ** 2).mean()
        scaler.scale(loss / len(batches)).backward()
    if spoil:
        model.gate.weight.grad[0, 0] = float("inf")
    scaler.unscale_(optimizer)
    norm = nn.utils.clip_grad_norm_(model.parameters(), 2.0)
    scaler.step(optimizer)
    scaler.update()
    return norm, scaler.get_scale()


halves = [(points[:6], classes[:6]), (points[6:], classes[6:])]
before = [p.detach().clone() for p in model.parameters()]
good = step(halves)
first = [p.grad.clone() for p in model.parameters()]
moved = [not torch.equal(a, b) for a, b in zip(before, model.parameters())]
middle = [p.detach().clone() for p in model.parameters()]
norm, scale = step(halves, spoil=True)
kept = [torch.equal(a, b) for a, b in zip(middle, model.parameters())]
spoiled = (torch.isfinite(norm), scale)
more = [step(halves)[1] for _ in range(2)]
scaler.state_dict()
{p.grad.dtype for p in model.parameters()}
{optimizer.state[p]["momentum_buffer"].dtype for p in model.parameters()}

# Evaluation in the block in which training goes on: the casts that it keeps are recorded.
with autocast(device.type, dtype=kind):
    with torch.no_grad():
        accuracy = (model(points)[0].argmax(-1) == classes).float().mean()
    loss = F.cross_entropy(model(points)[0], classes)
gradients = torch.autograd.grad(loss, list(model.parameters()))
found = {g.dtype for g in gradients}

# A scaler's state goes with the model's.
restored = GradScaler(device.type)
restored.load_state_dict(scaler.state_dict())
restored.get_scale() == scaler.get_scale()
