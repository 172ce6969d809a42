"""Scaled dot-product attention, as one operator and composed, and attention with several heads.

A. Vaswani et al., "Attention is all you need", NeurIPS 2017.
"""

from __future__ import annotations

import math

import numpy as np

from impl.allocation import ordered_like
from impl.dtypes import BY_NUMPY, FLOATING, REDUCED, float32
from impl.operator import FUNCTIONS, TAPED, Array, operator, written
from impl.operators.dropout import dropout
from impl.operators.products import linear
from impl.operators.softmax import checked, logsumexp_tangent, softmax_along
from impl.precision import widened
from impl.refusals import no_derivative
from impl.tensor import Tensor, requires_grad

# -- one operator -------------------------------------------------------------------------------


def _scores(query, key, is_causal: bool, mask, scale):
    scores = np.matmul(query * query.dtype.type(scale), key.swapaxes(-2, -1))
    if is_causal:
        kept = np.tri(scores.shape[-2], scores.shape[-1], dtype=bool)
        scores = np.where(kept, scores, -np.inf)
    if mask is not None:
        scores = (
            np.where(mask, scores, -np.inf) if mask.dtype == np.bool_ else scores + widened(mask)
        )
    return scores.astype(query.dtype, copy=False)


def _exponentials(scores):
    """The exponentials of the last dimension less its maximum, their sums (one where there is no
    finite score), and the logarithms of these with the maximum."""
    highest = scores.max(-1, keepdims=True)
    shift = np.where(np.isinf(highest), scores.dtype.type(0), highest)
    exponentials = np.exp(scores - shift)
    total = exponentials.sum(-1, keepdims=True)
    safe = np.where(total == 0, scores.dtype.type(1), total)
    return exponentials, safe, np.log(total) + shift


def _rounded(value, dtype):
    """What torch hands to a product: rounded, where the operands are in half precision."""
    return value.astype(dtype).astype(value.dtype) if dtype in REDUCED else value


@operator(
    node="ScaledDotProductFlashAttentionForCpuBackward0",
    outputs=("output", "logsumexp"),
    function=False,
    method=False,
    fresh=True,
)
def flash_attention(
    query: Array, key: Array, value: Array, dropout_p, is_causal, attn_mask: Array | None, scale
) -> tuple:
    q, k, v = widened(query), widened(key), widened(value)
    parts, total, logsumexp = _exponentials(_scores(q, k, is_causal, attn_mask, scale))
    result = np.matmul(_rounded(parts, query.dtype), v) / total
    return ordered_like(result.astype(query.dtype, copy=False), query), logsumexp[..., 0]


@operator(
    node="NotImplemented",
    outputs=("grad_query", "grad_key", "grad_value"),
    function=False,
    method=False,
    fresh=True,
)
def flash_attention_backward(
    grad_out: Array,
    query: Array,
    key: Array,
    value: Array,
    out: Array,
    dropout_p,
    is_causal,
    attn_mask: Array | None,
    scale,
) -> tuple:
    """The gradients of query, key and value."""
    q, k, v, g = widened(query), widened(key), widened(value), widened(grad_out)
    parts, total, _ = _exponentials(_scores(q, k, is_causal, attn_mask, scale))
    weights = parts / total
    of_weights = np.matmul(g, v.swapaxes(-2, -1))
    along = (g * widened(out)).sum(-1, keepdims=True)
    of_scores = _rounded(weights * (of_weights - along), query.dtype)
    factor = q.dtype.type(scale)
    made = (
        np.matmul(of_scores, k) * factor,
        np.matmul(of_scores.swapaxes(-2, -1), q) * factor,
        np.matmul(_rounded(weights, query.dtype).swapaxes(-2, -1), g),
    )
    like = (query, key, value)
    return tuple(
        ordered_like(m.astype(query.dtype, copy=False), x) for m, x in zip(made, like, strict=True)
    )


@flash_attention.differentiable("output").gradients("query", "key", "value")
@written
def _flash_gradients(F, grad, query, key, value, output, dropout_p, is_causal, attn_mask, scale):
    return F.flash_attention_backward(
        grad, query, key, value, output, dropout_p, is_causal, attn_mask, scale
    )


flash_attention.forward(
    "unsupported", name="_scaled_dot_product_flash_attention_for_cpu", invited=True
)
_refused = no_derivative("_scaled_dot_product_flash_attention_for_cpu_backward")
flash_attention_backward.gradient(
    grad_out=_refused, query=_refused, key=_refused, value=_refused, out=_refused
)


@operator(node="SafeSoftmaxBackward0", function=False, method=False)
def safe_softmax(self: Array, dim) -> Array:
    """softmax, but zero where all scores are minus infinity."""
    checked(self, dim, "softmax")
    parts, total, _ = _exponentials(widened(self))
    return (parts / total).astype(self.dtype, copy=False)


safe_softmax.gradient(self=lambda F, grad, result, dim: F.softmax_backward_data(grad, result, dim))


def _safe_tangent(F, self_t, self, dim, result):
    mean = logsumexp_tangent(F, self_t, self, (dim,), True)
    nothing = F.all_dim(self == -math.inf, dim, True)
    return result * (self_t - F.where(nothing, F.zeros_like(mean), mean))


safe_softmax.forward(_safe_tangent)

# -- composed -----------------------------------------------------------------------------------


def _added_mask(mask: Tensor, like: Tensor) -> Tensor:
    """A mask of booleans as what is added to scores."""
    if mask.dtype.name != "bool":
        return mask
    added = FUNCTIONS["zeros_like"](mask, dtype=like.dtype)
    added.masked_fill_(mask.logical_not(), -math.inf)
    return added


def _composed(query, key, value, mask, dropout_p, is_causal, scale) -> Tensor:
    if is_causal:
        shape = (query._raw.shape[-2], key._raw.shape[-2])
        mask = FUNCTIONS["ones"](shape, dtype=BY_NUMPY[np.dtype(bool)]).tril()
    kind = query.dtype
    if kind.numpy in REDUCED:
        query, key, value = (tensor.to(float32) for tensor in (query, key, value))
    root = math.sqrt(scale)
    query = TAPED.mul_scalar(query, root)
    scores = FUNCTIONS["matmul"](query, TAPED.mul_scalar(key.transpose(-2, -1), root))
    if mask is not None:
        mask = _added_mask(mask, query)
        scores = scores + mask
    weights = safe_softmax(scores, -1)
    if dropout_p > 0:
        weights = dropout(weights, dropout_p)
    return FUNCTIONS["matmul"](weights, value).to(kind)


def scaled_dot_product_attention(
    query,
    key,
    value,
    attn_mask=None,
    dropout_p=0.0,
    is_causal=False,
    scale=None,
    enable_gqa=False,
) -> Tensor:
    """softmax(query @ key.T * scale + mask) @ value (torch.nn.functional).

    (..., L, E), (..., S, E) and (..., S, V) give (..., L, V). A boolean mask says what is attended
    to, another is added. Raises RuntimeError for a mask with `is_causal` and for sizes that do not
    fit, NotImplementedError for `enable_gqa`.
    """
    if enable_gqa:
        raise NotImplementedError("scaled_dot_product_attention with enable_gqa")
    if is_causal and attn_mask is not None:
        raise RuntimeError(
            "_scaled_dot_product_attention: Explicit attn_mask should not be set when "
            "is_causal=True"
        )
    if scale is None:
        scale = 1.0 / math.sqrt(query._raw.shape[-1])
    operands = (query, key, value)
    whole = all(t._raw.ndim == 4 and t._raw.size for t in operands)
    masked = attn_mask is not None and (requires_grad(attn_mask) or attn_mask.dim() not in (2, 4))
    same = query._raw.shape[-1] == key._raw.shape[-1] == value._raw.shape[-1]
    floating = query.dtype.category == FLOATING
    stepped = any(t.stride(-1) != 1 for t in operands)
    if whole and same and floating and dropout_p == 0.0 and not (masked or stepped):
        return flash_attention(*operands, dropout_p, is_causal, attn_mask, scale)[0]
    return _composed(*operands, attn_mask, dropout_p, is_causal, scale)


# -- several heads ------------------------------------------------------------------------------


def _projected(query, key, value, weight, bias):
    """Query, key and value through one matrix, in as few products as torch makes."""
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


def _attention_mask(mask, name: str, like: Tensor):
    if mask is None:
        return None
    if mask.dtype.name != "bool" and mask.dtype.category != FLOATING:
        raise AssertionError(f"only bool and floating types of {name} are supported")
    if mask.dtype.name != "bool":
        return mask
    return FUNCTIONS["zeros_like"](mask, dtype=like.dtype).masked_fill_(mask, -math.inf)


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
    average_attn_weights=True,
    is_causal=False,
):
    """Attention with several heads over (L, N, E) or (L, E), and its weights if asked for
    (torch.nn.functional.multi_head_attention_forward)."""
    batched = query._raw.ndim == 3
    if not batched:
        same_kv, same = key is value, query is key
        query = query.unsqueeze(1)
        key = query if same else key.unsqueeze(1)
        value = key if same_kv else value.unsqueeze(1)
        if key_padding_mask is not None:
            key_padding_mask = key_padding_mask.unsqueeze(0)
    length, batch, width = query._raw.shape
    source = key._raw.shape[0]
    if width != embed_dim_to_check:
        raise AssertionError(
            f"was expecting embedding dimension of {embed_dim_to_check}, but got {width}"
        )
    padding = _attention_mask(key_padding_mask, "key_padding_mask", query)
    mask = _attention_mask(attn_mask, "attn_mask", query)
    if is_causal and mask is None:
        raise RuntimeError("Need attn_mask if specifying the is_causal hint.")
    head = width // num_heads
    q, k, v = _projected(query, key, value, in_proj_weight, in_proj_bias)
    if mask is not None and mask._raw.ndim == 2:
        mask = mask.unsqueeze(0)
    q = q.view(length, batch * num_heads, head).transpose(0, 1)
    k = k.view(k._raw.shape[0], batch * num_heads, head).transpose(0, 1)
    v = v.view(v._raw.shape[0], batch * num_heads, head).transpose(0, 1)
    if padding is not None:
        padding = padding.view(batch, 1, 1, source).expand(-1, num_heads, -1, -1)
        padding = padding.reshape(batch * num_heads, 1, source)
        mask = padding if mask is None else mask + padding
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
    weights = softmax_along(scores, -1)
    if dropout_p > 0.0:
        weights = dropout(weights, dropout_p)
    mixed = FUNCTIONS["bmm"](weights, v)
    mixed = mixed.transpose(0, 1).reshape(length * batch, width)
    output = linear(mixed, out_proj_weight, out_proj_bias).view(length, batch, -1)
    weights = weights.view(batch, num_heads, length, source)
    if average_attn_weights:
        weights = weights.mean(dim=1)
    if not batched:
        output, weights = output.squeeze(1), weights.squeeze(0)
    return output, weights


def _without_weights(q, k, v, mask, dropout_p, is_causal, weight, bias, batch: int, batched: bool):
    rows, length, head = q._raw.shape
    heads, source = rows // batch, k._raw.shape[1]
    if mask is not None:
        if mask._raw.shape[0] == 1 and mask._raw.ndim == 3:
            mask = mask.unsqueeze(0)
        else:
            mask = mask.view(batch, heads, -1, source)
    q = q.view(batch, heads, length, head)
    k, v = (t.view(batch, heads, source, head) for t in (k, v))
    mixed = scaled_dot_product_attention(q, k, v, mask, dropout_p, is_causal)
    mixed = mixed.permute(2, 0, 1, 3).reshape(batch * length, heads * head)
    output = linear(mixed, weight, bias).view(length, batch, -1)
    return (output if batched else output.squeeze(1)), None
