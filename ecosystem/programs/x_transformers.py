"""x-transformers: transformers with variants of attention, positions and norms."""

import torch
from x_transformers import (
    AutoregressiveWrapper,
    ContinuousTransformerWrapper,
    Decoder,
    Encoder,
    NonAutoregressiveWrapper,
    TransformerWrapper,
    ViTransformerWrapper,
    XTransformer,
)


def trained(**options):
    """The loss, logits and gradients of a language model, and a continuation."""
    layers = Decoder(dim=16, depth=2, heads=2, attn_dim_head=8, **options)
    model = TransformerWrapper(num_tokens=20, max_seq_len=16, attn_layers=layers)
    wrapper = AutoregressiveWrapper(model)
    tokens = torch.randint(0, 20, (2, 8))
    loss = wrapper(tokens)
    loss.backward()
    gradients = [p.grad for p in model.parameters() if p.grad is not None][:6]
    model.eval()
    continued = wrapper.generate(tokens[:, :3], 3, temperature=0.0)
    return [loss, model(tokens), continued, *gradients]


def case_positions():
    return trained(rotary_pos_emb=True) + trained(alibi_pos_bias=True) + trained(rel_pos_bias=True)


def case_norms():
    return trained(use_rmsnorm=True) + trained(use_scalenorm=True) + trained(sandwich_norm=True)


def case_normalised_queries():
    return trained(attn_qk_norm=True, attn_qk_norm_dim_scale=True, attn_flash=True)


def case_heads():
    talking = trained(attn_pre_talking_heads=True, attn_post_talking_heads=True)
    return talking + trained(attn_kv_heads=1) + trained(attn_num_mem_kv=2, attn_gate_values=True)


def case_sparse_attention():
    return trained(attn_sparse_topk=3) + trained(attn_selective=True) + trained(attn_sigmoid=True)


def case_residuals():
    return trained(residual_attn=True, gate_residual=True) + trained(num_residual_streams=2)


def case_feedforward():
    return trained(ff_glu=True, ff_swish=True, macaron=True) + trained(shift_tokens=1)


def case_images():
    model = ViTransformerWrapper(
        image_size=8, patch_size=4, num_classes=3, attn_layers=Encoder(dim=16, depth=1, heads=2)
    )
    output = model(torch.randn(2, 3, 8, 8))
    output.sum().backward()
    return [output, *(p.grad for p in model.parameters() if p.grad is not None)]


def case_encoder_and_decoder():
    sizes = {"num_tokens": 20, "depth": 1, "heads": 2, "max_seq_len": 8}
    options = {f"{side}_{name}": size for side in ("enc", "dec") for name, size in sizes.items()}
    model = XTransformer(dim=16, **options)
    source, target = torch.randint(0, 20, (2, 8)), torch.randint(0, 20, (2, 8))
    loss = model(source, target, mask=torch.ones(2, 8).bool())
    loss.backward()
    gradients = [p.grad for p in model.parameters() if p.grad is not None][:5]
    return [loss, model.generate(source, target[:, :1], 3, temperature=0.0), *gradients]


def case_continuous():
    layers = Decoder(dim=16, depth=1, heads=2)
    model = ContinuousTransformerWrapper(dim_in=3, dim_out=3, max_seq_len=8, attn_layers=layers)
    x = torch.randn(2, 6, 3, requires_grad=True)
    output = model(x, mask=torch.ones(2, 6).bool())
    return output, *torch.autograd.grad(output.square().sum(), x)


def case_memories():
    layers = Decoder(dim=16, depth=1, heads=2, rel_pos_bias=True)
    model = TransformerWrapper(num_tokens=20, max_seq_len=8, max_mem_len=8, attn_layers=layers)
    tokens = torch.randint(0, 20, (2, 8))
    first, memories = model(tokens, return_mems=True)
    return first, model(tokens, mems=memories)


def case_masked_tokens():
    layers = Encoder(dim=16, depth=1, heads=2)
    model = TransformerWrapper(num_tokens=20, max_seq_len=8, attn_layers=layers)
    return NonAutoregressiveWrapper(model, mask_id=19)(torch.randint(0, 20, (2, 8))).loss
