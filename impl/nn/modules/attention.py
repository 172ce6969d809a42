"""Multi-head attention as a layer."""

from __future__ import annotations

from typing import Any, ClassVar

from impl.core.registry import C
from impl.nn import functional as F
from impl.nn import init
from impl.nn.attention_inference import merged_masks, native_attention, reason_against
from impl.nn.attention_masks import canonical_mask, canonical_padding
from impl.nn.modules.linear import NonDynamicallyQuantizableLinear
from impl.nn.modules.module import Module
from impl.nn.parameter import empty_parameter
from impl.tensor.tensor import Tensor


class MultiheadAttention(Module):
    """Attention by several heads, over projected inputs (torch.nn.MultiheadAttention).

    Keys and values may be of widths `kdim` and `vdim`; `add_bias_kv` adds a learnable key and
    value, `add_zero_attn` a key and value of zeros. Raises ValueError for sizes that are not
    positive, AssertionError for a width that the number of heads does not divide.
    A. Vaswani et al., NeurIPS 2017.
    """

    _impl_added_attributes: ClassVar[dict[str, Any]] = {"_qkv_same_embed_dim": True}

    def __init__(
        self,
        embed_dim: int,
        num_heads: int,
        dropout: float = 0.0,
        bias: bool = True,
        add_bias_kv: bool = False,
        add_zero_attn: bool = False,
        kdim: int | None = None,
        vdim: int | None = None,
        batch_first: bool = False,
        device=None,
        dtype=None,
    ) -> None:
        if embed_dim <= 0 or num_heads <= 0:
            raise ValueError(
                "embed_dim and num_heads must be greater than 0, got "
                f"embed_dim={embed_dim} and num_heads={num_heads} instead"
            )
        super().__init__()
        self.embed_dim = embed_dim
        self.kdim = embed_dim if kdim is None else kdim
        self.vdim = embed_dim if vdim is None else vdim
        same = self._qkv_same_embed_dim = self.kdim == embed_dim and self.vdim == embed_dim
        self.num_heads, self.dropout, self.batch_first = num_heads, dropout, batch_first
        self.head_dim = embed_dim // num_heads
        if self.head_dim * num_heads != embed_dim:
            raise AssertionError("embed_dim must be divisible by num_heads")
        factory = {"device": device, "dtype": dtype}
        for name, width in (("q", embed_dim), ("k", self.kdim), ("v", self.vdim)):
            weight = empty_parameter((embed_dim, width), not same, **factory)
            self.register_parameter(f"{name}_proj_weight", weight)
        weight = empty_parameter((3 * embed_dim, embed_dim), same, **factory)
        self.register_parameter("in_proj_weight", weight)
        self.register_parameter("in_proj_bias", empty_parameter(3 * embed_dim, bias, **factory))
        self.out_proj = NonDynamicallyQuantizableLinear(embed_dim, embed_dim, bias, **factory)
        for name in ("bias_k", "bias_v"):
            row = empty_parameter((1, 1, embed_dim), add_bias_kv, **factory)
            setattr(self, name, row)
        self.add_zero_attn = add_zero_attn
        self._reset_parameters()

    def _reset_parameters(self) -> None:
        for kind in ("in", "q", "k", "v"):
            weight = getattr(self, f"{kind}_proj_weight")
            if weight is not None:
                init.xavier_uniform_(weight)
        if self.in_proj_bias is not None:
            init.constant_(self.in_proj_bias, 0.0)
            init.constant_(self.out_proj.bias, 0.0)
        for row in (self.bias_k, self.bias_v):
            if row is not None:
                init.xavier_normal_(row)

    def forward(
        self,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        key_padding_mask: Tensor | None = None,
        need_weights: bool = True,
        attn_mask: Tensor | None = None,
        average_attn_weights: bool = True,
        is_causal: bool = False,
    ):
        floating = _are_floating(attn_mask, key_padding_mask)
        is_batched = query.dim() == 3
        key_padding_mask = canonical_padding(key_padding_mask, attn_mask, query)
        attn_mask = canonical_mask(attn_mask, query)
        if not (floating or self.training) and not reason_against(self, query, key, value):
            mask, kind = self.merge_masks(attn_mask, key_padding_mask, query)
            if self.in_proj_bias is not None:
                output, shares = native_attention(self, query, mask, kind)
                if shares is None or not need_weights:
                    return output, None
                return output, shares.sum(1) / self.num_heads if average_attn_weights else shares
        if query.is_nested or key.is_nested or value.is_nested:
            raise AssertionError("MultiheadAttention does not support NestedTensor")
        swapped = self.batch_first and is_batched
        if swapped:
            query, key, value = _length_first(query, key, value)
        inputs = query, key, value, self.embed_dim, self.num_heads
        projections = self.in_proj_weight, self.in_proj_bias, self.bias_k, self.bias_v
        output_projection = self.out_proj.weight, self.out_proj.bias
        output, weights = F.multi_head_attention_forward(
            *inputs,
            *projections,
            self.add_zero_attn,
            self.dropout,
            *output_projection,
            training=self.training,
            key_padding_mask=key_padding_mask,
            need_weights=need_weights,
            attn_mask=attn_mask,
            use_separate_proj_weight=not self._qkv_same_embed_dim,
            q_proj_weight=self.q_proj_weight,
            k_proj_weight=self.k_proj_weight,
            v_proj_weight=self.v_proj_weight,
            average_attn_weights=average_attn_weights,
            is_causal=is_causal,
        )
        return (output.transpose(1, 0) if swapped else output), weights

    def merge_masks(self, attn_mask, key_padding_mask, query: Tensor):
        """One mask of both, and its kind (torch.nn.MultiheadAttention.merge_masks)."""
        return merged_masks(attn_mask, key_padding_mask, query, self.num_heads)


def _are_floating(*masks) -> bool:
    """Whether a mask is floating, for which there is no fast path."""
    return any(mask is not None and C.is_floating_point(mask) for mask in masks)


def _length_first(query: Tensor, key: Tensor, value: Tensor):
    """The inputs with their first two dimensions swapped; identical tensors stay identical."""
    if key is not value:
        return query.transpose(1, 0), key.transpose(1, 0), value.transpose(1, 0)
    if query is key:
        same = query.transpose(1, 0)
        return same, same, same
    query, key = query.transpose(1, 0), key.transpose(1, 0)
    return query, key, key
