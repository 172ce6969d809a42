"""Attention where nothing is recorded: the fused kernels that PyTorch's layers call in evaluation.

Their results differ from those of the other path: a row whose keys are all masked is NaN, a mask
that is added to the scores masks wherever it is not zero, and `is_causal` is not looked at.
"""

from __future__ import annotations

import math

from impl.backends import mha
from impl.core.registry import C
from impl.core.state import STATE
from impl.core.warning import warn_once
from impl.nn import functional as F
from impl.overrides import has_torch_function
from impl.tensor.tensor import Tensor

# The kinds of masks of torch's masked softmax.
KEYS, SCORES = 1, 2  # (N, L), and (N, heads, L, L)


def parameters_of(attention) -> tuple:
    """The parameters of a MultiheadAttention that its kernel takes."""
    output = attention.out_proj
    return attention.in_proj_weight, attention.in_proj_bias, output.weight, output.bias


def reason_against_operands(operands) -> str:
    """Why a fast path cannot take these operands, or "" if it can."""
    present = [value for value in operands if value is not None]
    if has_torch_function(tuple(present)):
        return "some Tensor argument has_torch_function"
    if any(value.device.type != "cpu" for value in present):
        return "some Tensor argument's device is neither one of cpu, cuda or privateuseone"
    if STATE.enabled and any(value.requires_grad for value in present):
        return (
            "grad is enabled and at least one of query or the "
            "input/output projection weights or biases requires_grad"
        )
    return ""


def reason_against(attention, query: Tensor, key: Tensor, value: Tensor) -> str:
    """Why a MultiheadAttention does not take its fast path for three inputs, "" if it does; the
    words are torch's, which an error shows."""
    weight, bias, *_ = projections = parameters_of(attention)
    reasons = {
        "torch.backends.mha.get_fastpath_enabled() was not True": not mha.get_fastpath_enabled(),
        "input not batched; expected query.dim() of 3 but got {dim}": query.dim() != 3,
        "non-self attention was used (query, key, and value are not the same Tensor)": (
            query is not key or key is not value
        ),
        "dtypes of query ({dtype}) and self.in_proj_bias ({bias}) don't match": (
            bias is not None and bias.dtype != query.dtype
        ),
        "in_proj_weight was None": weight is None,
        "dtypes of query ({dtype}) and self.in_proj_weight ({weight}) don't match": (
            weight is not None and weight.dtype != query.dtype
        ),
        "training is enabled": attention.training,
        "self.num_heads is not even": attention.num_heads % 2 != 0,
        "batch_first was not True": not attention.batch_first,
        "self.bias_k was not None": attention.bias_k is not None,
        "self.bias_v was not None": attention.bias_v is not None,
        "add_zero_attn was enabled": attention.add_zero_attn,
        "_qkv_same_embed_dim was not True": not attention._qkv_same_embed_dim,
    }
    found = next((reason for reason, holds in reasons.items() if holds), "")
    if not found:
        return reason_against_operands((query, *projections))
    return found.format(
        dim=query.dim(),
        dtype=query.dtype,
        bias=bias is not None and bias.dtype,
        weight=weight is not None and weight.dtype,
    )


def merged_masks(mask: Tensor | None, padding: Tensor | None, query: Tensor, heads: int):
    """One mask of a mask of scores (L, L) or (N * heads, L, L) and one of keys (N, L), and its
    kind; (None, None) without masks."""
    if mask is None:
        return (None, None) if padding is None else (padding, KEYS)
    batch, length, _ = query.shape
    if mask.dim() == 3:
        merged = mask.view(batch, -1, length, length)
    else:
        merged = mask.view(1, 1, length, length).expand(batch, heads, -1, -1)
    if padding is not None:
        merged = merged + padding.view(batch, 1, 1, length).expand(-1, heads, -1, -1)
    return merged, SCORES


def native_attention(attention, x: Tensor, mask, kind: int | None):
    """Self-attention over (N, L, E) by torch's kernel; the output and each head's weights
    (N, heads, L, L), None for an input without elements.

    Raises RuntimeError for an input of another width and a mask of keys of another shape.
    """
    weight, bias, output_weight, output_bias = parameters_of(attention)
    batch, length, width = x.shape
    if width != attention.embed_dim:
        raise RuntimeError(
            f"passed-in embed_dim {attention.embed_dim} didn't match last dim of query {width}"
        )
    if not x._raw.size:
        return C.empty_like(x), None
    if kind == KEYS and mask.shape != (batch, length):
        raise RuntimeError("For mask_type == 1 mask shape should be (B, L)")
    heads, head = attention.num_heads, attention.head_dim
    parts = (C.linear(x, weight) + bias).chunk(3, -1)  # autocast lowers the product alone
    q, k, v = (part.view(batch, length, heads, head).transpose(1, 2) for part in parts)
    scores = C.matmul(q * (1 / math.sqrt(head)), k.transpose(-2, -1))
    if mask is not None:
        masked = mask.view(batch, 1, 1, length) if kind == KEYS else mask
        scores = scores.masked_fill(masked != 0, -math.inf)
    shares = F.softmax(scores, dim=-1)
    mixed = C.matmul(shares, v).transpose(1, 2).contiguous().view(batch, length, width)
    return C.linear(mixed, output_weight, output_bias), shares


# -- nested tensors ------------------------------------------------------------------------------

# How many nested tensors torch makes in a layer, each of which warns.
NESTED_IN_A_LAYER = 7


def warn_nested(times: int = 1) -> None:
    """Warn as often as torch does of the nested tensors that it makes of padded batches."""
    for _ in range(times):
        warn_once(
            "The PyTorch API of nested tensors is in prototype stage and will change in the near "
            "future. We recommend specifying layout=torch.jagged when constructing a nested "
            "tensor, as this layout receives active development, has better operator coverage, "
            "and works with torch.compile.",
        )


def is_left_aligned(x: Tensor, kept: Tensor) -> bool:
    """Whether the elements that are kept (N, L) of each row of x (N, L, E) are its first ones.

    Raises RuntimeError for another shape, and without rows or elements.
    """
    if kept.shape != x.shape[:2]:
        raise RuntimeError("Mask size should match input size")
    if not kept.shape[1]:
        raise IndexError(
            f"select(): index -1 out of range for tensor of size {list(kept.shape)} at dimension 1"
        )
    counts = kept.sum(1, keepdim=True)
    return bool((kept == (C.arange(kept.shape[1]) < counts)).all())
