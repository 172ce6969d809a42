"""The layers of transformers: residual attention, and two linear maps.

A. Vaswani et al., "Attention is all you need", NeurIPS 2017; with the normalisation first,
R. Xiong et al., ICML 2020.
"""

from __future__ import annotations

import inspect
from typing import Any, ClassVar

from impl.backends.mha import get_fastpath_enabled
from impl.core.registry import C
from impl.nn import functional as F
from impl.nn.attention_inference import native_attention, parameters_of, reason_against_operands
from impl.nn.attention_masks import canonical_mask, canonical_padding
from impl.nn.modules.activation import GELU, ReLU
from impl.nn.modules.attention import MultiheadAttention
from impl.nn.modules.dropout import Dropout
from impl.nn.modules.linear import Linear
from impl.nn.modules.module import Module
from impl.nn.modules.normalization import LayerNorm
from impl.tensor.tensor import Tensor


def _activation(activation):
    if not isinstance(activation, str):
        return activation
    if activation not in ("relu", "gelu"):
        raise RuntimeError(f"activation should be relu/gelu, not {activation}")
    return getattr(F, activation)


def square_subsequent_mask(size: int, device=None, dtype=None) -> Tensor:
    """The causal mask (size, size): minus infinity above the diagonal, zero elsewhere."""
    full = C.full((size, size), float("-inf"), dtype=dtype, device=device)
    return C.triu(full, diagonal=1)


class _Layer(Module):
    """The parts of an encoder or decoder layer: attention, two linear maps, and their norms."""

    _norms: int
    _fuses = False  # whether a kernel evaluates the layer, with the activation of its making
    _impl_added_attributes: ClassVar[dict[str, Any]] = {"activation": F.relu}

    def __init__(
        self,
        d_model: int,
        nhead: int,
        dim_feedforward: int = 2048,
        dropout: float = 0.1,
        activation=F.relu,
        layer_norm_eps: float = 1e-5,
        batch_first: bool = False,
        norm_first: bool = False,
        bias: bool = True,
        device=None,
        dtype=None,
    ) -> None:
        super().__init__()
        factory = {"device": device, "dtype": dtype}
        for name in ("self_attn", "multihead_attn")[: self._norms - 1]:
            attention = MultiheadAttention(
                d_model, nhead, dropout=dropout, bias=bias, batch_first=batch_first, **factory
            )
            setattr(self, name, attention)
        self.linear1 = Linear(d_model, dim_feedforward, bias=bias, **factory)
        self.dropout = Dropout(dropout)
        self.linear2 = Linear(dim_feedforward, d_model, bias=bias, **factory)
        self.norm_first = norm_first
        for i in range(1, self._norms + 1):
            norm = LayerNorm(d_model, eps=layer_norm_eps, bias=bias, **factory)
            setattr(self, f"norm{i}", norm)
        for i in range(1, self._norms + 1):
            setattr(self, f"dropout{i}", Dropout(dropout))
        given = _activation(activation)
        if self._fuses:
            self.activation_relu_or_gelu = _fused_activation(given)
        self.activation = given

    def _attended(self, attention, x, memory, mask, padding, causal, dropout) -> Tensor:
        output = attention(
            x,
            memory,
            memory,
            attn_mask=mask,
            key_padding_mask=padding,
            need_weights=False,
            is_causal=causal,
        )[0]
        return dropout(output)

    def _mapped(self, x: Tensor, dropout) -> Tensor:
        return dropout(self.linear2(self.dropout(self.activation(self.linear1(x)))))


def _fused_activation(activation) -> int:
    """The number by which torch's kernel for evaluation knows an activation: 1 for relu, 2 for
    gelu, 0 for another one."""
    plain = inspect.unwrap(activation)
    kinds = ((inspect.unwrap(F.relu), ReLU), (inspect.unwrap(F.gelu), GELU))
    for number, (function, kind) in enumerate(kinds, 1):
        if plain is function or isinstance(activation, kind):
            return number
    return 0


class TransformerEncoderLayer(_Layer):
    """Self-attention, then two linear maps (torch.nn.TransformerEncoderLayer)."""

    __module__ = "impl.nn.modules.transformer"
    _norms = 2
    _fuses = True

    def forward(
        self,
        src: Tensor,
        src_mask: Tensor | None = None,
        src_key_padding_mask: Tensor | None = None,
        is_causal: bool = False,
    ) -> Tensor:
        src_key_padding_mask = canonical_padding(
            src_key_padding_mask, src_mask, src, "src_", "src_mask"
        )
        src_mask = canonical_mask(src_mask, src, "src_mask")
        if self._takes_fast_path(src):
            merged, kind = self.self_attn.merge_masks(src_mask, src_key_padding_mask, src)
            return self._inferred(src, merged, kind)

        def attended(x):
            given = src_mask, src_key_padding_mask, is_causal, self.dropout1
            return self._attended(self.self_attn, x, x, *given)

        if self.norm_first:
            x = src + attended(self.norm1(src))
            return x + self._mapped(self.norm2(x), self.dropout2)
        x = self.norm1(src + attended(src))
        return self.norm2(x + self._mapped(x, self.dropout2))

    def _inferred(self, src: Tensor, mask: Tensor | None, kind: int | None) -> Tensor:
        """The layer by torch's kernel for evaluation: without dropout, and with sums in the dtype
        that autocast gives the products."""

        def attended(x):
            return native_attention(self.self_attn, x, mask, kind)[0]

        activation = F.gelu if self.activation_relu_or_gelu == 2 else F.relu

        def mapped(x):
            return self.linear2(activation(self.linear1(x)))

        if self.norm_first:
            x = attended(self.norm1(src)).add_(src)
            return mapped(self.norm2(x)) + x
        x = self.norm1(attended(src).add_(src))
        return self.norm2(mapped(x).add_(x))

    def _takes_fast_path(self, src: Tensor) -> bool:
        """Whether torch calls its fused kernel for evaluation."""
        attention: Any = self.self_attn
        fits = (
            get_fastpath_enabled()
            and src.dim() == 3
            and not self.training
            and attention.batch_first
            and attention.in_proj_bias is not None
            and attention._qkv_same_embed_dim
            and self.activation_relu_or_gelu > 0
            and self.norm1.eps == self.norm2.eps
            and attention.num_heads % 2 == 0
            and not any(m._forward_hooks or m._forward_pre_hooks for m in self.modules())
        )
        return bool(fits) and not reason_against_operands((src, *self._operands()))

    def _operands(self) -> list:
        """The parameters that the kernel takes."""
        others = (self.norm1, self.norm2, self.linear1, self.linear2)
        return [*parameters_of(self.self_attn), *(p for m in others for p in (m.weight, m.bias))]


class TransformerDecoderLayer(_Layer):
    """Self-attention, attention to an encoder's output, then two linear maps
    (torch.nn.TransformerDecoderLayer)."""

    __module__ = "impl.nn.modules.transformer"
    _norms = 3

    def forward(
        self,
        tgt: Tensor,
        memory: Tensor,
        tgt_mask: Tensor | None = None,
        memory_mask: Tensor | None = None,
        tgt_key_padding_mask: Tensor | None = None,
        memory_key_padding_mask: Tensor | None = None,
        tgt_is_causal: bool = False,
        memory_is_causal: bool = False,
    ) -> Tensor:
        def own(x):
            given = tgt_mask, tgt_key_padding_mask, tgt_is_causal, self.dropout1
            return self._attended(self.self_attn, x, x, *given)

        def other(x):
            given = memory_mask, memory_key_padding_mask, memory_is_causal, self.dropout2
            return self._attended(self.multihead_attn, x, memory, *given)

        if self.norm_first:
            x = tgt + own(self.norm1(tgt))
            x = x + other(self.norm2(x))
            return x + self._mapped(self.norm3(x), self.dropout3)
        x = self.norm1(tgt + own(tgt))
        x = self.norm2(x + other(x))
        return self.norm3(x + self._mapped(x, self.dropout3))
