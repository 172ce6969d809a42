"""Reinforcement learning: scores of sampled actions, a critic, and graphs that are kept or cut."""

import torch
from torch import nn
from torch.nn import functional as F

torch.manual_seed(23)


class Agent(nn.Module):
    def __init__(self, states=4, actions=2):
        super().__init__()
        self.body = nn.Linear(states, 6)
        self.policy = nn.Linear(6, actions)
        self.value = nn.Linear(6, 1)

    def forward(self, state):
        hidden = torch.tanh(self.body(state))
        return self.policy(hidden), self.value(hidden).squeeze(-1)


def world(state, action):
    drift = 0.5 if action == 1 else -0.5
    following = torch.roll(state, 1) + drift * torch.tensor([1.0, 0.0, -1.0, 0.0])
    return following.clamp(-2, 2), float(-following.square().sum())


agent = Agent()
optimizer = torch.optim.RMSprop(agent.parameters(), lr=5e-3)

# One step in full.
state = torch.tensor([1.0, -0.5, 0.25, 0.0])
logits, value = agent(state)
log_probabilities = F.log_softmax(logits, dim=-1)
action = torch.multinomial(log_probabilities.exp().detach(), 1).item()
following, reward = world(state, action)
with torch.no_grad():
    _, bootstrap = agent(following)

target = reward + 0.9 * bootstrap
advantage = target - value
actor_loss = -log_probabilities[action] * advantage.detach()
critic_loss = advantage.square()
entropy = -(log_probabilities.exp() * log_probabilities).sum()

# Two losses over one graph: the first backward must keep it for the second.
actor_loss.backward(retain_graph=True)
body_from_actor = agent.body.weight.grad.clone()
value_untouched = agent.value.weight.grad
critic_loss.backward()
body_from_both = agent.body.weight.grad

# The second freed it, so the entropy comes too late.
entropy.backward()  # raises RuntimeError
optimizer.step()
optimizer.zero_grad()

# Without retain_graph the second backward finds freed memory.
logits, value = agent(state)
logits.square().sum().backward()
value.backward()  # raises RuntimeError
agent.zero_grad()


def episode(length=4):
    state = torch.tensor([1.0, -0.5, 0.25, 0.0])
    scores, values, rewards = [], [], []
    for _ in range(length):
        logits, value = agent(state)
        log_probabilities = logits.log_softmax(-1)
        action = int(torch.rand(()) < log_probabilities[1].exp())
        scores.append(log_probabilities[action])
        values.append(value)
        state, reward = world(state, action)
        rewards.append(reward)
    return torch.stack(scores), torch.stack(values), rewards


def returns(rewards, discount=0.9):
    total, result = 0.0, []
    for reward in reversed(rewards):
        total = reward + discount * total
        result.insert(0, total)
    return torch.tensor(result)


history = []
for _ in range(3):
    scores, values, rewards = episode()
    gains = returns(rewards)
    advantages = gains - values.detach()
    advantages = (advantages - advantages.mean()) / (advantages.std() + 1e-6)
    loss = -(scores * advantages).sum() + 0.5 * F.smooth_l1_loss(values, gains)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    history.append(loss.item())

# Proximal: the ratio to the policy that acted, clipped where it would profit too much.
scores, values, rewards = episode()
old = scores.detach()
ratio = torch.exp(scores - old + torch.tensor([0.5, -0.5, 0.0, 0.1]))
advantages = torch.tensor([1.0, 1.0, -1.0, -1.0])
surrogate = torch.min(ratio * advantages, ratio.clamp(0.8, 1.2) * advantages)
surrogate.sum().backward()
agent.policy.bias.grad

# The score function estimates a gradient that also exists in closed form.
theta = torch.tensor([0.2, -0.4, 0.1], requires_grad=True)
rewards = torch.tensor([1.0, 3.0, 2.0])
p = theta.softmax(0)
(exact,) = torch.autograd.grad((p * rewards).sum(), theta)
drawn = torch.multinomial(p.detach(), 200, replacement=True)
estimate = torch.autograd.grad((theta.log_softmax(0)[drawn] * rewards[drawn]).mean(), theta)[0]
(estimate - exact).abs().max() < 0.2

# A target network follows slowly, in place and outside every graph.
slow = Agent()
slow.load_state_dict(agent.state_dict())
with torch.no_grad():
    for s, p in zip(slow.parameters(), agent.parameters()):
        s.mul_(0.99).add_(p, alpha=0.01)

[s.requires_grad for s in slow.parameters()]
[s._version for s in slow.parameters()]
