"""Attention with several heads in all its forms: other widths, added rows, masks and weights."""

import torch
from torch import nn

torch.manual_seed(47)

query = torch.randn(3, 2, 4).requires_grad_()
key = torch.randn(5, 2, 4)
plain = nn.MultiheadAttention(4, 2)
list(plain.state_dict())
output, weights = plain(query, key, key)
output
weights.sum(-1)
output.square().sum().backward()
query.grad
[p.grad for p in plain.parameters()]

# Weights of each head, or none.
plain(query, key, key, average_attn_weights=False)[1].shape
mean = plain(query, key, key, average_attn_weights=False)[1].mean(1)
torch.allclose(mean, weights)
fused, nothing = plain(query, key, key, need_weights=False)
nothing
torch.allclose(fused, output, atol=1e-6)
(g,) = torch.autograd.grad(fused.square().sum(), query)
torch.allclose(g, query.grad, atol=1e-5)

# What is hidden: keys of padding, pairs, the future.
padding = torch.tensor([[False, False, True, True, True], [False, False, False, False, True]])
plain(query, key, key, key_padding_mask=padding)[1]
pairs = torch.zeros(3, 5).masked_fill(torch.ones(3, 5).tril(2) == 0, -2.0)
output, weights = plain(query, key, key, attn_mask=pairs)
weights
both = plain(query, key, key, key_padding_mask=padding, attn_mask=pairs)  # warns UserWarning
both[1]
causal = nn.Transformer.generate_square_subsequent_mask(3)
plain(query, query, query, attn_mask=causal)[1]
hinted = plain(query, query, query, attn_mask=causal, is_causal=True, need_weights=False)
hinted[0]
plain(query, query, query, is_causal=True)  # raises RuntimeError
per_head = torch.zeros(4, 3, 5, dtype=torch.bool)
per_head[1:3, :, :2] = True
plain(query, key, key, attn_mask=per_head, average_attn_weights=False)[1][0]
plain(query, key, key, attn_mask=torch.zeros(2, 5))  # raises RuntimeError
plain(query, key, key, key_padding_mask=padding[:1])  # raises AssertionError
plain(query, key, key, attn_mask=torch.zeros(3, 5, dtype=torch.int64))  # raises AssertionError

# Keys and values of other widths.
apart = nn.MultiheadAttention(4, 2, kdim=3, vdim=5, bias=False)
list(apart.state_dict())
[p.shape for p in apart.parameters()]
apart.in_proj_weight is None
output, _ = apart(query, torch.randn(6, 2, 3), torch.randn(6, 2, 5))
output
output.sum().backward()
apart.k_proj_weight.grad, apart.v_proj_weight.grad
apart(query, torch.randn(6, 2, 4), torch.randn(6, 2, 5))  # raises AssertionError
apart(query, torch.randn(6, 2, 3), torch.randn(5, 2, 5))  # raises AssertionError

# Rows that are added to keys and values, learnt or zero.
longer = nn.MultiheadAttention(4, 2, add_bias_kv=True, add_zero_attn=True)
list(longer.state_dict())
longer.bias_k
output, weights = longer(query, key, key, key_padding_mask=padding)
weights.shape
weights
output.sum().backward()
longer.bias_k.grad, longer.bias_v.grad
everything = nn.MultiheadAttention(
    4,
    2,
    add_bias_kv=True,
    add_zero_attn=True,
    kdim=3,
    vdim=2,
    batch_first=True,
    dtype=torch.float64,
)
[name for name, _ in everything.named_parameters()]
q = torch.randn(2, 3, 4, dtype=torch.float64).requires_grad_()
k, v = torch.randn(2, 5, 3, dtype=torch.float64), torch.randn(2, 5, 2, dtype=torch.float64)
output, weights = everything(q, k, v, attn_mask=pairs.double(), average_attn_weights=False)
output, weights
output.stride()
output.cos().sum().backward()
q.grad
everything.bias_v.grad

# Without a batch, and with the batch first.
output, weights = plain(query[:, 0], key[:, 0], key[:, 0], key_padding_mask=padding[0])
output, weights
first = nn.MultiheadAttention(4, 2, batch_first=True)
first.load_state_dict(plain.state_dict())
turned = query.transpose(0, 1)
a, b = first(turned, turned, turned), plain(query, query, query)
torch.allclose(a[0], b[0].transpose(0, 1), atol=1e-6), torch.equal(a[1], b[1])
a[0]
plain(query[0, 0], key, key)  # raises AssertionError
plain(query, key[:, 0], key[:, 0])  # raises AssertionError
plain(torch.randn(3, 2, 6), key, key)  # raises AssertionError
plain(query, key, key[:4])  # raises AssertionError
nn.MultiheadAttention(4, 3)  # raises AssertionError
nn.MultiheadAttention(0, 1)  # raises ValueError

# Shares are dropped in training only.
dropping = nn.MultiheadAttention(4, 2, dropout=0.5)
dropping(query, key, key)[0]
dropping.eval()
torch.equal(dropping(query, key, key)[0], dropping(query, key, key)[0])
