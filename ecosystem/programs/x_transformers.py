"""x-transformers: a decoder with options."""

import torch
from x_transformers import Decoder, TransformerWrapper


def trained(**options):
    model = TransformerWrapper(
        num_tokens=13, max_seq_len=8, attn_layers=Decoder(dim=16, depth=1, heads=2, **options)
    )
    loss = model(torch.randint(0, 13, (2, 8))).logsumexp(-1).mean()
    loss.backward()
    return loss, *(p.grad for p in model.parameters() if p.grad is not None)


def case_plain():
    return trained()


def case_rotary():
    return trained(rotary_pos_emb=True)


def case_rmsnorm():
    return trained(use_rmsnorm=True, ff_glu=True)
