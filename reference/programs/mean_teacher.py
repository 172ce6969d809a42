"""A student, its slowly moving teacher, and contrastive pairs: copies, buffers and stopped gradients."""

import copy

import torch
from torch import nn
from torch.nn import functional as F

torch.manual_seed(53)
student = nn.Sequential(nn.Linear(4, 6), nn.BatchNorm1d(6), nn.ReLU(), nn.Linear(6, 3))
teacher = copy.deepcopy(student)
for p in teacher.parameters():
    p.requires_grad_(False)

predictor = nn.Linear(3, 3)
shared = [a is b for a, b in zip(student.parameters(), teacher.parameters())]
x = torch.randn(6, 4)
one, two = x + 0.1 * torch.randn(6, 4), x + 0.1 * torch.randn(6, 4)


# The student predicts what the teacher sees of the other view.
def similarity(p, z):
    return 2 - 2 * F.cosine_similarity(p, z.detach(), dim=-1)


prediction = predictor(student(one))
with torch.no_grad():
    goal = teacher(two)

loss = similarity(prediction, goal).mean()
loss.backward()
student[0].weight.grad
[p.grad for p in teacher.parameters()]

optimizer = torch.optim.SGD([*student.parameters(), *predictor.parameters()], lr=0.1)


@torch.no_grad()
def follow(momentum=0.9):
    for slow, fast in zip(teacher.parameters(), student.parameters()):
        slow.mul_(momentum).add_(fast, alpha=1 - momentum)
    for slow, fast in zip(teacher.buffers(), student.buffers()):
        slow.copy_(fast)


optimizer.step()
follow()
teacher[0].weight
teacher[1].running_mean
teacher[1].num_batches_tracked
history = []
for _ in range(2):
    optimizer.zero_grad()
    with torch.no_grad():
        first, second = teacher(one), teacher(two)
    loss = (
        similarity(predictor(student(one)), second) + similarity(predictor(student(two)), first)
    ).mean()
    loss.backward()
    optimizer.step()
    follow()
    history.append(loss.item())


# Contrastive: every other example of the batch is a negative one.
def contrast(a, b, temperature=0.5):
    a, b = F.normalize(a, dim=1), F.normalize(b, dim=1)
    scores = a @ b.t() / temperature
    labels = torch.arange(len(a))
    return (F.cross_entropy(scores, labels) + F.cross_entropy(scores.t(), labels)) / 2


student.zero_grad()
student.eval()
loss = contrast(student(one), student(two))
loss.backward()
student[3].weight.grad
student[1].weight.grad

# Word vectors: rows that are looked up get gradients, the others zeros.
words = nn.Embedding(6, 3, padding_idx=0)
ids = torch.tensor([[1, 2, 0], [2, 2, 5]])
vectors = words(ids)
(vectors.sum(1) @ torch.tensor([1.0, -1.0, 2.0])).sum().backward()
words.weight.grad
counted = F.embedding(ids, words.weight, scale_grad_by_freq=True)
words.zero_grad()
counted.sum().backward()
words.weight.grad


# One tensor under two names: a tied decoder's gradient is the sum of both uses.
class Tied(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(5, 3)
        self.decode = nn.Linear(3, 5, bias=False)
        self.decode.weight = self.embed.weight

    def forward(self, ids):
        return self.decode(torch.tanh(self.embed(ids)))


tied = Tied()
[name for name, _ in tied.named_parameters()]
list(tied.state_dict())
F.cross_entropy(tied(torch.tensor([0, 3])), torch.tensor([1, 4])).backward()
tied.embed.weight.grad is tied.decode.weight.grad
tied.embed.weight.grad
