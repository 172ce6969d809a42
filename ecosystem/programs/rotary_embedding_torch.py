"""rotary-embedding-torch: rotations of queries and keys."""

import torch
from rotary_embedding_torch import RotaryEmbedding, apply_rotary_emb


def case_queries():
    rotary = RotaryEmbedding(dim=8)
    q = torch.randn(1, 2, 6, 16, requires_grad=True)
    y = rotary.rotate_queries_or_keys(q)
    (y * torch.arange(16.0)).sum().backward()
    return y, q.grad


def case_pairs():
    rotary = RotaryEmbedding(dim=4, use_xpos=True)
    q, k = (torch.randn(1, 2, 5, 8, requires_grad=True) for _ in range(2))
    a, b = rotary.rotate_queries_and_keys(q, k)
    (a * b).sum().backward()
    return a, b, q.grad, k.grad


def case_axial():
    rotary = RotaryEmbedding(dim=4, freqs_for="pixel", max_freq=10)
    freqs = rotary.get_axial_freqs(3, 4)
    q = torch.randn(1, 3, 4, 16)
    return freqs, apply_rotary_emb(freqs, q)
