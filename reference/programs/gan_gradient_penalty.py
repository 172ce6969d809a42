"""A Wasserstein GAN's critic and generator, one step each, with the penalty on the critic's slope.

The penalty is a function of a gradient, so the critic's loss is differentiated twice.
"""

import torch
from torch import nn

torch.manual_seed(11)

generator = nn.Sequential(nn.Linear(3, 8), nn.LeakyReLU(0.2), nn.Linear(8, 2))
critic = nn.Sequential(nn.Linear(2, 8), nn.Softplus(), nn.Linear(8, 8), nn.Tanh(), nn.Linear(8, 1))
generator_optimizer = torch.optim.Adam(generator.parameters(), lr=1e-2, betas=(0.0, 0.9))
critic_optimizer = torch.optim.Adam(critic.parameters(), lr=1e-2, betas=(0.0, 0.9))
real = torch.randn(6, 2) @ torch.tensor([[1.0, 0.5], [0.0, 0.8]]) + 2

# The critic: the generator's graph is not wanted.
noise = torch.randn(6, 3)
fake = generator(noise).detach()
mix = torch.rand(6, 1)
between = (mix * real + (1 - mix) * fake).requires_grad_()
scores = critic(between)
(slope,) = torch.autograd.grad(scores.sum(), between, create_graph=True)
lengths = slope.norm(2, dim=1)
penalty = ((lengths - 1) ** 2).mean()
loss = critic(fake).mean() - critic(real).mean() + 10 * penalty
critic_optimizer.zero_grad()
loss.backward()
gradients = [p.grad for p in critic.parameters()]
critic_optimizer.step()
leaf_gradient = between.grad

# The generator: the critic's parameters are frozen, and gradients flow through it all the same.
for p in critic.parameters():
    p.requires_grad_(False)

sample = generator(noise)
generator_loss = -critic(sample).mean()
generator_optimizer.zero_grad()
generator_loss.backward()
untouched = [p.grad is g for p, g in zip(critic.parameters(), gradients)]
generator_gradients = [p.grad for p in generator.parameters()]
generator_optimizer.step()

for p in critic.parameters():
    p.requires_grad_(True)


def penalised(real, fake):
    mix = torch.rand(len(real), 1)
    between = torch.lerp(fake, real, mix).requires_grad_()
    (slope,) = torch.autograd.grad(
        critic(between), between, torch.ones(len(real), 1), create_graph=True
    )
    return (slope.pow(2).sum(1).sqrt() - 1).square().mean()


# Two more rounds; the penalty of the real examples alone is the other well-known form.
history = []
for _ in range(2):
    noise = torch.randn(6, 3)
    with torch.no_grad():
        fake = generator(noise)
    critic_optimizer.zero_grad()
    loss = critic(fake).mean() - critic(real).mean() + 10 * penalised(real, fake)
    loss.backward()
    critic_optimizer.step()
    generator_optimizer.zero_grad()
    value = -critic(generator(noise)).mean()
    value.backward()
    generator_optimizer.step()
    history.append((loss.item(), value.item()))

anchor = real.clone().requires_grad_()
(real_slope,) = torch.autograd.grad(critic(anchor).sum(), anchor, create_graph=True)
zero_centred = 0.5 * real_slope.square().sum(1).mean()
zero_centred.backward()
anchor.grad
critic[0].weight.grad

# Without create_graph the slope is a constant, and the penalty teaches the critic nothing.
(constant,) = torch.autograd.grad(critic(anchor).sum(), anchor)
constant.requires_grad  # False
constant.square().sum().backward()  # raises RuntimeError
