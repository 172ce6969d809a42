"""curated-transformers: encoders, decoders and their positions."""

import torch
from curated_transformers.layers import AttentionMask, QueryKeyRotaryEmbeddings
from curated_transformers.models import (
    ALBERTConfig,
    ALBERTEncoder,
    BERTConfig,
    BERTEncoder,
    FalconCausalLM,
    FalconConfig,
    GPTNeoXCausalLM,
    GPTNeoXConfig,
    RoBERTaConfig,
    RoBERTaEncoder,
)

WIDTHS = dict(dtype=torch.float64, hidden_width=8, n_hidden_layers=2, n_pieces=20)


def graded(net):
    pieces = torch.randint(0, 20, (2, 6))
    mask = AttentionMask(torch.tensor([[1] * 6, [1] * 4 + [0] * 2]).bool())
    found = net(pieces, attention_mask=mask)
    y = found.logits if hasattr(found, "logits") else found.last_hidden_layer_state
    y.square().sum().backward()
    text = torch.tensor([*repr(net).encode()])
    return y, *(p.grad for p in net.parameters() if p.grad is not None), text


def encoder(kind, config, **options):
    widths = dict(WIDTHS, embedding_width=8, intermediate_width=16, n_attention_heads=2)
    return graded(kind(config(**{**widths, **options})))


def case_bert():
    return encoder(BERTEncoder, BERTConfig, n_types=2)


def case_albert():
    return encoder(ALBERTEncoder, ALBERTConfig, embedding_width=4)


def case_roberta():
    return encoder(RoBERTaEncoder, RoBERTaConfig, padding_id=1)


def case_neox():
    return graded(
        GPTNeoXCausalLM(GPTNeoXConfig(**WIDTHS, n_attention_heads=2, rotary_embedding_fraction=0.5))
    )


def case_falcon():
    heads = dict(n_query_heads=4, n_key_value_heads=2, new_decoder_architecture=True)
    return graded(FalconCausalLM(FalconConfig(**WIDTHS, **heads)))


def case_rotations():
    rotate = QueryKeyRotaryEmbeddings(fraction=0.5, head_width=8)
    q, k = (torch.randn(2, 2, 5, 8, requires_grad=True) for _ in range(2))
    a, b = rotate(query=q, key=k)
    (a.sum() + b.square().sum()).backward()
    return a, b, q.grad, k.grad
