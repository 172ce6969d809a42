"""Multi-head attention.

A. Vaswani et al., "Attention is all you need", NeurIPS 2017.
"""

from __future__ import annotations

import math
import warnings

from impl.core.dtypes import FLOATING
from impl.core.registry import FUNCTIONS, tensor_ops
from impl.operators.activations.dropout import dropout
from impl.operators.activations.softmax import softmax_along
from impl.operators.copies.padding import constant_pad_nd
from impl.operators.layers.attention import scaled_dot_product_attention
from impl.operators.products.linear import linear
from impl.tensor.tensor import Tensor

# -- checks of the operands ------------------------------------------------------------------------


def _is_batched(query, key, value, padding, mask, heads: int) -> bool:
    """Whether the operands have a batch dimension. Raises AssertionError for inconsistent ranks."""
    rank = query._raw.ndim
    if rank not in (2, 3):
        raise AssertionError(
            f"query should be unbatched 2D or batched 3D tensor but received {rank}-D query tensor"
        )
    kind = f"For {'batched' if rank == 3 else 'unbatched'} ({rank}-D) `query`, expected"
    if key._raw.ndim != rank or value._raw.ndim != rank:
        raise AssertionError(
            f"{kind} `key` and `value` to be {rank}-D but found {key._raw.ndim}-D and "
            f"{value._raw.ndim}-D tensors respectively"
        )
    if padding is not None and padding._raw.ndim != rank - 1:
        raise AssertionError(
            f"{kind} `key_padding_mask` to be `None` or {rank - 1}-D but found "
            f"{padding._raw.ndim}-D tensor instead"
        )
    if mask is not None and mask._raw.ndim not in (2, 3):
        raise AssertionError(
            f"{kind} `attn_mask` to be `None`, 2-D or 3-D but found {mask._raw.ndim}-D tensor "
            "instead"
        )
    if mask is not None and rank == 2 and mask._raw.ndim == 3:
        expected = (heads, query._raw.shape[0], key._raw.shape[0])
        if mask._raw.shape != expected:
            raise AssertionError(
                f"Expected `attn_mask` shape to be {expected} but got {mask.shape}"
            )
    return rank == 3


def _added_mask(mask, name: str, like: Tensor, other=None):
    """A mask to add to the scores; warns where `other` is of another dtype."""
    if mask is None:
        return None
    whether = mask.dtype.name == "bool"
    if not whether and mask.dtype.category != FLOATING:
        raise AssertionError(f"only bool and floating types of {name} are supported")
    if other is not None and other.dtype is not mask.dtype:
        warnings.warn(
            f"Support for mismatched {name} and attn_mask is deprecated. Use same type for both "
            "instead.",
            stacklevel=4,
        )
    if not whether:
        return mask
    return FUNCTIONS["zeros_like"](mask, dtype=like.dtype).masked_fill_(mask, -math.inf)


def _check_widths(query, key, value, embed_dim: int, heads: int, separate: bool) -> None:
    width = query._raw.shape[-1]
    if width != embed_dim:
        raise AssertionError(f"was expecting embedding dimension of {embed_dim}, but got {width}")
    if width // heads * heads != width:
        raise AssertionError(f"embed_dim {width} not divisible by num_heads {heads}")
    if separate and key.shape[:2] != value.shape[:2]:
        raise AssertionError(
            f"key's sequence and batch dims {key.shape[:2]} do not match value's {value.shape[:2]}"
        )
    if not separate and key.shape != value.shape:
        raise AssertionError(f"key shape {key.shape} does not match value shape {value.shape}")


def _batch_of_masks(mask, shape):
    """The mask with three dimensions. Raises RuntimeError where its shape is not `shape`, (N, L,
    S)."""
    if mask._raw.ndim == 2:
        if mask._raw.shape != shape[1:]:
            raise RuntimeError(
                f"The shape of the 2D attn_mask is {mask.shape}, but should be {shape[1:]}."
            )
        return mask.unsqueeze(0)
    if mask._raw.shape != shape:
        raise RuntimeError(f"The shape of the 3D attn_mask is {mask.shape}, but should be {shape}.")
    return mask


# -- its steps ------------------------------------------------------------------------------------


def _projected(query, key, value, weight, bias):
    """Query, key and value projected by one packed matrix, with torch's number of products."""
    width = query.size(-1)
    if key is value and query is key:
        made = linear(query, weight, bias)
        made = made.unflatten(-1, (3, width)).unsqueeze(0).transpose(0, -2)
        made = made.squeeze(-2).contiguous()
        return made[0], made[1], made[2]
    if key is value:
        w_q, w_kv = weight.split([width, 2 * width])
        b_q, b_kv = (None, None) if bias is None else bias.split([width, 2 * width])
        made = linear(key, w_kv, b_kv).unflatten(-1, (2, width)).unsqueeze(0).transpose(0, -2)
        made = made.squeeze(-2).contiguous()
        return linear(query, w_q, b_q), made[0], made[1]
    weights = weight.chunk(3)
    biases = (None,) * 3 if bias is None else bias.chunk(3)
    return tuple(
        linear(t, w, b) for t, w, b in zip((query, key, value), weights, biases, strict=True)
    )


def _projected_apart(operands, weights, bias):
    """Query, key and value, each projected by its own matrix."""
    width = operands[0].size(-1)
    biases = (None,) * 3 if bias is None else bias.chunk(3)
    named = zip(("query", "key", "value"), operands, weights, strict=True)
    for name, operand, weight in named:
        expected = (width, operand.size(-1))
        if weight.shape != expected:
            raise AssertionError(
                f"expecting {name} weights shape of {expected}, but got {weight.shape}"
            )
    return tuple(linear(t, w, b) for t, w, b in zip(operands, weights, biases, strict=True))


def _by_head(projected, rows: int, head: int):
    """(L, N, E) as (N * heads, L, E / heads)."""
    split = tensor_ops.view(projected, (projected._raw.shape[0], rows, head))
    return tensor_ops.transpose(split, 0, 1)


def _lengthened(key, value, mask, padding, key_row, value_row, dim: int):
    """Key and value with one more row, which the masks leave visible."""
    key = FUNCTIONS["cat"]([key, key_row], dim)
    value = FUNCTIONS["cat"]([value, value_row], dim)
    mask, padding = (m if m is None else constant_pad_nd(m, (0, 1), 0) for m in (mask, padding))
    return key, value, mask, padding


def _with_padding(mask, padding, batch: int, heads: int, source: int):
    """The attention mask and the padding mask combined for each head of each example.

    Raises AssertionError for other sizes.
    """
    for dim, size in enumerate((batch, source)):
        if padding._raw.shape[dim] != size:
            raise AssertionError(
                f"Expected key_padded_mask.shape[{dim}] to be {size}, but got "
                f"{padding._raw.shape[dim]}"
            )
    padding = padding.view(batch, 1, 1, source).expand(-1, heads, -1, -1)
    padding = padding.reshape(batch * heads, 1, source)
    return padding if mask is None else mask + padding


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
    length, batch, width = query._raw.shape
    rows, head = batch * num_heads, width // num_heads
    padding = _added_mask(key_padding_mask, "key_padding_mask", query, attn_mask)
    if is_causal and attn_mask is None:
        raise RuntimeError(
            "Need attn_mask if specifying the is_causal hint. You may use the Transformer module "
            "method `generate_square_subsequent_mask` to create this mask."
        )
    if is_causal and padding is None and not need_weights:
        mask = None
    else:
        mask = _added_mask(attn_mask, "attn_mask", query)
        is_causal = is_causal and padding is None
    _check_widths(query, key, value, embed_dim_to_check, num_heads, use_separate_proj_weight)
    if use_separate_proj_weight:
        weights = (q_proj_weight, k_proj_weight, v_proj_weight)
        q, k, v = _projected_apart((query, key, value), weights, in_proj_bias)
    else:
        q, k, v = _projected(query, key, value, in_proj_weight, in_proj_bias)
    if mask is not None:
        mask = _batch_of_masks(mask, (rows, length, key._raw.shape[0]))
    if bias_k is not None and bias_v is not None:
        more = (bias_k.repeat(1, batch, 1), bias_v.repeat(1, batch, 1))
        k, v, mask, padding = _lengthened(k, v, mask, padding, *more, 0)
    q = _by_head(q, rows, head)
    k = static_k if static_k is not None else _by_head(k, rows, head)
    v = static_v if static_v is not None else _by_head(v, rows, head)
    if add_zero_attn:
        more = tuple(FUNCTIONS["zeros"]((rows, 1, head), dtype=t.dtype) for t in (k, v))
        k, v, mask, padding = _lengthened(k, v, mask, padding, *more, 1)
    source = k._raw.shape[1]
    if padding is not None:
        mask = _with_padding(mask, padding, batch, num_heads, source)
    if not training:
        dropout_p = 0.0
    if not need_weights:
        return _without_weights(
            q, k, v, mask, dropout_p, is_causal, out_proj_weight, out_proj_bias, batch, batched
        )
    scaled = q * math.sqrt(1.0 / float(head))
    turned = k.transpose(-2, -1)
    if mask is not None:
        scores = FUNCTIONS["baddbmm"](mask, scaled, turned)
    else:
        scores = FUNCTIONS["bmm"](scaled, turned)
    shares = softmax_along(scores, -1)
    if dropout_p > 0.0:
        shares = dropout(shares, dropout_p)
    mixed = FUNCTIONS["bmm"](shares, v)
    mixed = mixed.transpose(0, 1).reshape(length * batch, width)
    output = linear(mixed, out_proj_weight, out_proj_bias).view(length, batch, -1)
    shares = shares.view(batch, num_heads, length, source)
    if average_attn_weights:
        shares = shares.mean(dim=1)
    if not batched:
        output, shares = output.squeeze(1), shares.squeeze(0)
    return output, shares


def _without_weights(q, k, v, mask, dropout_p, is_causal, weight, bias, batch: int, batched: bool):
    rows, length, head = q._raw.shape
    heads, source = rows // batch, k._raw.shape[1]
    if mask is not None:
        if mask._raw.shape[0] == 1 and mask._raw.ndim == 3:
            mask = mask.unsqueeze(0)
        else:
            mask = mask.view(batch, heads, -1, source)
    q = tensor_ops.view(q, (batch, heads, length, head))
    k, v = (tensor_ops.view(t, (batch, heads, source, head)) for t in (k, v))
    mixed = scaled_dot_product_attention(q, k, v, mask, dropout_p, is_causal)
    mixed = mixed.permute(2, 0, 1, 3).reshape(batch * length, heads * head)
    output = linear(mixed, weight, bias).view(length, batch, -1)
    return (output if batched else output.squeeze(1)), None
