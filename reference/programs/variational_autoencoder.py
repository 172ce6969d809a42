"""A variational autoencoder's step: gradients pass through a sample because its noise is apart."""

import torch
from torch import nn
from torch.nn import functional as F

torch.manual_seed(13)


class Autoencoder(nn.Module):
    def __init__(self, width=6, code=2):
        super().__init__()
        self.encode = nn.Sequential(nn.Linear(width, 10), nn.ELU())
        self.mean = nn.Linear(10, code)
        self.log_variance = nn.Linear(10, code)
        self.decode = nn.Sequential(nn.Linear(code, 10), nn.ELU(), nn.Linear(10, width))
        for layer in (self.mean, self.log_variance):
            nn.init.xavier_normal_(layer.weight)
            nn.init.zeros_(layer.bias)

    def forward(self, x):
        hidden = self.encode(x)
        mean, log_variance = self.mean(hidden), self.log_variance(hidden)
        noise = torch.randn_like(mean)
        code = mean + noise * torch.exp(0.5 * log_variance)
        return self.decode(code), mean, log_variance


def bound(logits, x, mean, log_variance, weight=1.0):
    likelihood = F.binary_cross_entropy_with_logits(logits, x, reduction="sum")
    divergence = -0.5 * torch.sum(1 + log_variance - mean.pow(2) - log_variance.exp())
    return (likelihood + weight * divergence) / len(x)


data = torch.bernoulli(torch.rand(5, 6))
model = Autoencoder()
logits, mean, log_variance = model(data)
mean.retain_grad()
loss = bound(logits, data, mean, log_variance)
loss.backward()
mean.grad
model.log_variance.weight.grad
model.mean.bias.grad

optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
history = []
for step in range(4):
    optimizer.zero_grad(set_to_none=step % 2 == 0)
    logits, mean, log_variance = model(data)
    loss = bound(logits, data, mean, log_variance, weight=min(1.0, step / 2))
    loss.backward()
    optimizer.step()
    history.append(loss.item())

# The sample itself cannot be differentiated: torch.normal has a gradient of zeros.
m = torch.zeros(3, requires_grad=True)
s = torch.ones(3, requires_grad=True)
torch.manual_seed(0)
drawn = torch.normal(m, s)
drawn.sum().backward()
m.grad
s.grad

# Written with the noise apart, it can.
torch.manual_seed(0)
noise = torch.randn(3)
(m + s * noise).sum().backward()
m.grad
s.grad

# A relaxed choice among three, sharp forward and soft backward.
scores = torch.tensor([[0.5, 1.5, -0.5], [2.0, 0.0, 1.0]], requires_grad=True)
torch.manual_seed(6)
gumbel = -torch.empty_like(scores).exponential_().log()
soft = ((scores + gumbel) / 0.7).softmax(dim=1)
index = soft.argmax(dim=1, keepdim=True)
hard = torch.zeros_like(soft).scatter_(1, index, 1.0)
choice = hard - soft.detach() + soft
(choice * torch.tensor([1.0, 2.0, 3.0])).sum().backward()
scores.grad

# The importance-weighted bound: log of a mean of exponentials over several samples.
torch.manual_seed(17)
with torch.no_grad():
    hidden = model.encode(data)

mean, log_variance = model.mean(hidden), model.log_variance(hidden)
noise = torch.randn(3, *mean.shape)
codes = mean + noise * (0.5 * log_variance).exp()
logits = model.decode(codes)
likelihood = -F.binary_cross_entropy_with_logits(
    logits, data.expand_as(logits), reduction="none"
).sum(-1)
prior = -0.5 * codes.square().sum(-1)
posterior = -0.5 * (noise.square() + log_variance).sum(-1)
weights = likelihood + prior - posterior
tight = weights.logsumexp(0).mean()
model.zero_grad()
tight.backward()
model.decode[0].weight.grad
model.encode[0].weight.grad
