"""Multi-head attention.

A. Vaswani et al., "Attention is all you need", NeurIPS 2017.
"""

from __future__ import annotations

import math

from impl.core.registry import C
from impl.nn.activation import softmax
from impl.nn.attention_masks import canonical_mask, canonical_padding
from impl.nn.dropout import dropout
from impl.nn.images import pad
from impl.operators.layers.attention import mixed_heads
from impl.operators.layers.attention_kernels import ALLOWED
from impl.operators.layers.packed_heads import packed_heads
from impl.tensor.overridable import overridable

# -- checks of the operands ------------------------------------------------------------------------


def _is_batched(query, key, value, padding, mask, heads: int) -> bool:
    """Whether the operands have a batch dimension. Raises AssertionError for inconsistent ranks."""
    rank = query.dim()
    if rank not in (2, 3):
        raise AssertionError(
            f"query should be unbatched 2D or batched 3D tensor but received {rank}-D query tensor"
        )
    kind = f"For {'batched' if rank == 3 else 'unbatched'} ({rank}-D) `query`, expected"
    if key.dim() != rank or value.dim() != rank:
        raise AssertionError(
            f"{kind} `key` and `value` to be {rank}-D but found {key.dim()}-D and "
            f"{value.dim()}-D tensors respectively"
        )
    if padding is not None and padding.dim() != rank - 1:
        raise AssertionError(
            f"{kind} `key_padding_mask` to be `None` or {rank - 1}-D but found "
            f"{padding.dim()}-D tensor instead"
        )
    if mask is not None and mask.dim() not in (2, 3):
        raise AssertionError(
            f"{kind} `attn_mask` to be `None`, 2-D or 3-D but found {mask.dim()}-D tensor instead"
        )
    if mask is not None and rank == 2 and mask.dim() == 3:
        expected = (heads, query.shape[0], key.shape[0])
        if mask.shape != expected:
            raise AssertionError(
                f"Expected `attn_mask` shape to be {expected} but got {mask.shape}"
            )
    return rank == 3


def _head_size(query, key, value, embed_dim, heads, separate: bool) -> int:
    """The width of one head. Raises AssertionError for shapes that do not fit."""
    width = query.shape[-1]
    if width != embed_dim:
        raise AssertionError(f"was expecting embedding dimension of {embed_dim}, but got {width}")
    head = width // heads
    if head * heads != width:
        raise AssertionError(f"embed_dim {width} not divisible by num_heads {heads}")
    if separate and key.shape[:2] != value.shape[:2]:
        raise AssertionError(
            f"key's sequence and batch dims {key.shape[:2]} do not match value's {value.shape[:2]}"
        )
    if not separate and key.shape != value.shape:
        raise AssertionError(f"key shape {key.shape} does not match value shape {value.shape}")
    return head


def _batch_of_masks(mask, shape):
    """The mask with three dimensions. Raises RuntimeError where its shape is not `shape`, (N, L,
    S)."""
    if mask.dim() == 2:
        if mask.shape != shape[1:]:
            raise RuntimeError(
                f"The shape of the 2D attn_mask is {mask.shape}, but should be {shape[1:]}."
            )
        return mask.unsqueeze(0)
    if mask.shape != shape:
        raise RuntimeError(f"The shape of the 3D attn_mask is {mask.shape}, but should be {shape}.")
    return mask


# -- its steps ------------------------------------------------------------------------------------


def _projected(query, key, value, weight, bias, heads: int | None):
    """Query, key and value projected by one packed matrix, with torch's number of products; and
    whether they are split into this number of `heads` already (None: they must not)."""
    width = query.size(-1)
    if key is value and query is key:
        made = C.linear(query, weight, bias)
        split = None if heads is None else packed_heads(made, heads)
        if split is not None:
            return split, True
        made = made.unflatten(-1, (3, width)).unsqueeze(0).transpose(0, -2)
        made = made.squeeze(-2).contiguous()
        return (made[0], made[1], made[2]), False
    if key is value:
        w_q, w_kv = weight.split([width, 2 * width])
        b_q, b_kv = (None, None) if bias is None else bias.split([width, 2 * width])
        made = C.linear(key, w_kv, b_kv).unflatten(-1, (2, width)).unsqueeze(0).transpose(0, -2)
        made = made.squeeze(-2).contiguous()
        return (C.linear(query, w_q, b_q), made[0], made[1]), False
    weights = weight.chunk(3)
    biases = (None,) * 3 if bias is None else bias.chunk(3)
    operands = zip((query, key, value), weights, biases, strict=True)
    return tuple(C.linear(t, w, b) for t, w, b in operands), False


def _projected_apart(operands, weights, bias):
    """Query, key and value, each projected by its own matrix."""
    names = ("query", "key", "value")
    for letter, weight in zip("qkv", weights, strict=True):
        if weight is None:
            raise AssertionError(
                f"use_separate_proj_weight is True but {letter}_proj_weight is None"
            )
    biases = (None,) * 3 if bias is None else bias.chunk(3)
    sizes = [operand.size(-1) for operand in operands]
    for name, size, weight in zip(names, sizes, weights, strict=True):
        expected = (sizes[0], size)
        if weight.shape != expected:
            raise AssertionError(
                f"expecting {name} weights shape of {expected}, but got {weight.shape}"
            )
    return tuple(C.linear(t, w, b) for t, w, b in zip(operands, weights, biases, strict=True))


def _lengthened(key, value, mask, padding, key_row, value_row, dim: int):
    """Key and value with one more row, which the masks leave visible."""
    key = C.cat([key, key_row], dim=dim)
    value = C.cat([value, value_row], dim=dim)
    mask, padding = (m if m is None else pad(m, (0, 1)) for m in (mask, padding))
    return key, value, mask, padding


def _check_biases(bias_k, bias_v, static_k, static_v) -> bool:
    """Whether key and value get a row of biases. Raises AssertionError for one without the other,
    and beside a static one."""
    if bias_k is None and bias_v is None:
        return False
    if bias_v is None:
        raise AssertionError("bias_k is set but bias_v is None")
    if bias_k is None:
        raise AssertionError("bias_v is set but bias_k is None")
    for name, value in (("key", static_k), ("value", static_v)):
        if value is not None:
            raise AssertionError(f"bias cannot be added to static {name}.")
    return True


def _by_head(value, static, name: str, rows: int, head: int):
    """Key or value (rows, S, head); or the static one, of which the sizes are checked."""
    if static is None:
        return value.view(value.shape[0], rows, head).transpose(0, 1)
    for dim, size in ((0, rows), (2, head)):
        if static.size(dim) != size:
            raise AssertionError(
                f"expecting {name}.size({dim}) of {size}, but got {static.size(dim)}"
            )
    return static


def _with_padding(mask, padding, batch: int, heads: int, source: int):
    """The attention mask and the padding mask combined for each head of each example.

    Raises AssertionError for other sizes.
    """
    for dim, size in enumerate((batch, source)):
        if padding.shape[dim] != size:
            raise AssertionError(
                f"Expected key_padded_mask.shape[{dim}] to be {size}, but got {padding.shape[dim]}"
            )
    padding = padding.view(batch, 1, 1, source).expand(-1, heads, -1, -1)
    padding = padding.reshape(batch * heads, 1, source)
    return padding if mask is None else mask + padding


@overridable(
    "query",
    "key",
    "value",
    "in_proj_weight",
    "in_proj_bias",
    "bias_k",
    "bias_v",
    "out_proj_weight",
    "out_proj_bias",
)
def multi_head_attention_forward(
    query,
    key,
    value,
    embed_dim_to_check,
    num_heads,
    in_proj_weight,
    in_proj_bias,
    bias_k,
    bias_v,
    add_zero_attn,
    dropout_p,
    out_proj_weight,
    out_proj_bias,
    training=True,
    key_padding_mask=None,
    need_weights=True,
    attn_mask=None,
    use_separate_proj_weight=False,
    q_proj_weight=None,
    k_proj_weight=None,
    v_proj_weight=None,
    static_k=None,
    static_v=None,
    average_attn_weights=True,
    is_causal=False,
):
    """Multi-head attention over (L, N, E) or (L, E), and its weights if requested
    (torch.nn.functional.multi_head_attention_forward).

    Raises AssertionError or RuntimeError for shapes that do not fit, as torch does.
    """
    batched = _is_batched(query, key, value, key_padding_mask, attn_mask, num_heads)
    if not batched:
        query, key, value = (t.unsqueeze(1) for t in (query, key, value))
        if key_padding_mask is not None:
            key_padding_mask = key_padding_mask.unsqueeze(0)
    length, batch, width = query.shape
    padding = canonical_padding(key_padding_mask, attn_mask, query)
    if is_causal and attn_mask is None:
        raise RuntimeError(
            "Need attn_mask if specifying the is_causal hint. You may use the Transformer module "
            "method `generate_square_subsequent_mask` to create this mask."
        )
    if is_causal and padding is None and not need_weights:
        mask = None
    else:
        mask = canonical_mask(attn_mask, query)
        is_causal = is_causal and padding is None
    separate, is_split = use_separate_proj_weight, False
    head = _head_size(query, key, value, embed_dim_to_check, num_heads, separate)
    if separate:
        weights = (q_proj_weight, k_proj_weight, v_proj_weight)
        q, k, v = _projected_apart((query, key, value), weights, in_proj_bias)
    elif in_proj_weight is None:
        raise AssertionError("use_separate_proj_weight is False but in_proj_weight is None")
    else:
        lengthened = any(more is not None for more in (bias_k, bias_v, static_k, static_v))
        heads = None if lengthened else num_heads
        operands = query, key, value, in_proj_weight, in_proj_bias
        (q, k, v), is_split = _projected(*operands, heads)
    rows = batch * num_heads
    if mask is not None:
        mask = _batch_of_masks(mask, (rows, length, key.shape[0]))
    if _check_biases(bias_k, bias_v, static_k, static_v):
        more = (bias_k.repeat(1, batch, 1), bias_v.repeat(1, batch, 1))
        k, v, mask, padding = _lengthened(k, v, mask, padding, *more, 0)
    if not is_split:
        q = q.view(length, rows, head).transpose(0, 1)
        k = _by_head(k, static_k, "static_k", rows, head)
        v = _by_head(v, static_v, "static_v", rows, head)
    if add_zero_attn:
        more = tuple(C.zeros((rows, 1, head), dtype=t.dtype, device=t.device) for t in (k, v))
        k, v, mask, padding = _lengthened(k, v, mask, padding, *more, 1)
    source = k.size(1)
    if padding is not None:
        mask = _with_padding(mask, padding, batch, num_heads, source)
    if not training:
        dropout_p = 0.0
    if not need_weights:
        return _without_weights(
            q,
            k,
            v,
            mask,
            dropout_p,
            is_causal,
            out_proj_weight,
            out_proj_bias,
            (batch, num_heads),
            batched,
            is_split,
        )
    scaled = q * math.sqrt(1.0 / float(head))
    if is_causal and mask is None:
        raise AssertionError("FIXME: is_causal not implemented for need_weights")
    turned = k.transpose(-2, -1)
    scores = C.bmm(scaled, turned) if mask is None else C.baddbmm(mask, scaled, turned)
    shares = softmax(scores, dim=-1)
    if dropout_p > 0.0:
        shares = dropout(shares, p=dropout_p)
    mixed = C.bmm(shares, v)
    mixed = mixed.transpose(0, 1).reshape(length * batch, width)
    output = C.linear(mixed, out_proj_weight, out_proj_bias)
    output = output.view(length, batch, output.size(1))
    shares = shares.view(batch, num_heads, length, source)
    if average_attn_weights:
        shares = shares.mean(dim=1)
    if not batched:
        output, shares = output.squeeze(1), shares.squeeze(0)
    return output, shares


def _without_weights(
    q, k, v, mask, dropout_p, is_causal, weight, bias, groups, batched: bool, packed: bool
):
    """`groups` are the sizes of the batch and the heads, which q, k and v have in one dimension;
    `packed` says that they come from `packed_heads`."""
    batch, heads = groups
    length, head, source = q.shape[1], q.shape[2], k.shape[1]
    if mask is not None:
        if mask.size(0) == 1 and mask.dim() == 3:
            mask = mask.unsqueeze(0)
        else:
            mask = mask.view(batch, heads, -1, source)
    if packed and mask is None and dropout_p == 0 and ALLOWED["flash"]:
        mixed = mixed_heads((q, k, v), batch, heads, is_causal)
    else:
        q = q.view(batch, heads, length, head)
        k, v = (t.view(batch, heads, source, head) for t in (k, v))
        mixed = C.scaled_dot_product_attention(q, k, v, mask, dropout_p, is_causal)
        mixed = mixed.permute(2, 0, 1, 3).reshape(batch * length, heads * head)
    output = C.linear(mixed, weight, bias)
    output = output.view(length, batch, output.size(1))
    return (output if batched else output.squeeze(1)), None
