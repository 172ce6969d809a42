"""local-attention: attention within windows."""

import torch
from local_attention import LocalAttention
from local_attention.transformer import LocalTransformer


def attended(**options):
    q, k, v = (torch.randn(2, 16, 8, requires_grad=True) for _ in range(3))
    attention = LocalAttention(dim=8, window_size=4, look_backward=1, dropout=0.0, **options)
    y = attention(q, k, v)
    y.square().sum().backward()
    return y, q.grad, k.grad, v.grad


def case_causal():
    return attended(causal=True, look_forward=0)


def case_both_sides():
    return attended(causal=False, look_forward=1)


def case_exact_window():
    return attended(causal=True, look_forward=0, exact_windowsize=True)


def case_transformer():
    model = LocalTransformer(
        num_tokens=11,
        dim=16,
        depth=1,
        causal=True,
        local_attn_window_size=4,
        max_seq_len=16,
        dim_head=8,
        heads=2,
    )
    loss = model(torch.randint(0, 11, (1, 16)), return_loss=True)
    loss.backward()
    return loss, *(p.grad for p in model.parameters() if p.grad is not None)
