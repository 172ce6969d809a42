"""reformer-pytorch: reversible layers that restore random states, and attention by hashes."""

import torch
from reformer_pytorch import LSHAttention, LSHSelfAttention, ReformerLM


def model(**options):
    sizes = {"num_tokens": 20, "dim": 16, "depth": 2, "max_seq_len": 16, "heads": 2, "dim_head": 8}
    return ReformerLM(**sizes, bucket_size=4, n_hashes=2, **options)


def trained(model, *inputs, **named):
    out = model(*inputs, **named)
    out.square().mean().backward()
    return out, *(p.grad for p in model.parameters() if p.grad is not None)


def tokens():
    return torch.randint(0, 20, (2, 16))


def case_reversible_with_dropout():
    dropouts = {"lsh_dropout": 0.1, "ff_dropout": 0.1, "post_attn_dropout": 0.1}
    return trained(model(causal=True, **dropouts), tokens())


def case_rezero_and_dropped_layers():
    return trained(model(use_rezero=True, use_full_attn=True, layer_dropout=0.3), tokens())


def case_axial_positions():
    positions = {"axial_position_emb": True, "axial_position_shape": (4, 4)}
    return trained(model(use_scale_norm=True, ff_glu=True, ff_chunks=2, **positions), tokens())


def case_shared_weights_and_local_heads():
    return trained(model(weight_tie=True, n_local_attn_heads=1, emb_dim=8), tokens())


def case_masked():
    mask = torch.ones(2, 16, dtype=torch.bool)
    mask[1, 12:] = False
    return trained(model(causal=True), tokens(), input_mask=mask)


def case_hashes():
    attention = LSHAttention(bucket_size=4, n_hashes=3, causal=True, return_attn=True)
    qk, v = (torch.randn(2, 8, 6, requires_grad=True) for _ in range(2))
    out, weights, buckets = attention(qk, v)
    out.square().sum().backward()
    return out, weights, buckets, qk.grad, v.grad


def case_self_attention():
    layer = LSHSelfAttention(dim=8, heads=2, bucket_size=4, n_hashes=2, one_value_head=True)
    return trained(layer, torch.randn(2, 16, 8))
