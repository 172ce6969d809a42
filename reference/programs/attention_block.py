"""A transformer block: attention by hand and fused, dropout from one seed, layer normalisation."""

import math

import torch
from torch import nn
from torch.nn import functional as F

torch.manual_seed(8)


class Attention(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.project = nn.Linear(width, 3 * width)
        self.out = nn.Linear(width, width)

    def forward(self, x, mask=None, fused=False):
        batch, length, width = x.shape
        q, k, v = self.project(x).chunk(3, dim=-1)
        q, k, v = (
            t.view(batch, length, self.heads, width // self.heads).transpose(1, 2)
            for t in (q, k, v)
        )
        if fused:
            mixed = F.scaled_dot_product_attention(q, k, v, attn_mask=mask)
        else:
            scores = q @ k.transpose(-2, -1) / math.sqrt(q.size(-1))
            if mask is not None:
                scores = scores.masked_fill(~mask, float("-inf"))
            mixed = scores.softmax(dim=-1) @ v
        return self.out(mixed.transpose(1, 2).reshape(batch, length, width))


class Block(nn.Module):
    def __init__(self, width=8, heads=2, drop=0.25):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.attention = Attention(width, heads)
        self.feed = nn.Sequential(
            nn.Linear(width, 16), nn.GELU(), nn.Dropout(drop), nn.Linear(16, width)
        )
        self.drop = nn.Dropout(drop)

    def forward(self, x, mask=None):
        x = x + self.drop(self.attention(self.norm1(x), mask))
        return x + self.feed(self.norm2(x))


tokens = torch.tensor([[3, 1, 4, 1, 0], [2, 2, 0, 0, 0]])
embedding = nn.Embedding(5, 8, padding_idx=0)
positions = nn.Parameter(0.1 * torch.randn(5, 8))
block = Block()
causal = torch.ones(5, 5, dtype=torch.bool).tril()

x = embedding(tokens) + positions
normal = block.norm1(x)
attended = block.attention(normal, causal)
torch.manual_seed(21)
y = block(x, causal)
torch.manual_seed(21)
again = block(x, causal)
torch.equal(y, again)
logits = y @ embedding.weight.T
loss = F.cross_entropy(logits[:, :-1].reshape(-1, 5), tokens[:, 1:].reshape(-1), ignore_index=0)
loss.backward()
embedding.weight.grad
positions.grad
block.attention.project.weight.grad
block.norm2.weight.grad

# No dropout in evaluation, and the fused operator agrees with the one by hand.
block.eval()
by_hand = block.attention(normal.detach(), causal)
fused = block.attention(normal.detach(), causal, fused=True)
torch.allclose(by_hand, fused, atol=1e-6)
fused.sum().backward()
without = block(x.detach(), causal)
torch.equal(without, block(x.detach(), causal))

# A later token has no influence on an earlier one.
z = x.detach().clone().requires_grad_()
block(z, causal)[0, 1].sum().backward()
z.grad.abs().sum(dim=2) > 0

# The layer of the library, with its own names for the same things.
library = nn.MultiheadAttention(8, 2, batch_first=True)
query = x.detach().requires_grad_()
output, weights = library(query, query, query, attn_mask=~causal)
weights.sum(dim=-1)
output.square().mean().backward()
query.grad
library.in_proj_weight.grad

# Double backward through layer normalisation.
w = torch.randn(2, 3, dtype=torch.float64, requires_grad=True)
scale = torch.ones(3, dtype=torch.float64, requires_grad=True)
(slope,) = torch.autograd.grad(
    F.layer_norm(w, (3,), scale)[:, 0].square().sum(), w, create_graph=True
)
slope.square().sum().backward()
w.grad
scale.grad
