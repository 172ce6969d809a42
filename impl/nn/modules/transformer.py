"""Transformers: stacks of encoder and decoder layers.

A. Vaswani et al., "Attention is all you need", NeurIPS 2017.
"""

from __future__ import annotations

import copy
import warnings
from typing import Any

from impl.backends.mha import get_fastpath_enabled
from impl.core.registry import C
from impl.nn import functional as F
from impl.nn.attention_inference import (
    KEYS,
    NESTED_IN_A_LAYER,
    is_left_aligned,
    reason_against,
    reason_against_operands,
    warn_nested,
)
from impl.nn.attention_masks import canonical_mask, canonical_padding
from impl.nn.init import xavier_uniform_
from impl.nn.modules.container import ModuleList
from impl.nn.modules.module import Module
from impl.nn.modules.normalization import LayerNorm
from impl.nn.modules.transformer_layers import (
    TransformerDecoderLayer,
    TransformerEncoderLayer,
    square_subsequent_mask,
)
from impl.tensor.tensor import Tensor


class _Stack(Module):
    """Copies of a layer in sequence, and an optional normalisation."""

    def __init__(self, layer: Module, num_layers: int, norm: Module | None = None) -> None:
        super().__init__()
        self.layers = ModuleList([copy.deepcopy(layer) for _ in range(num_layers)])
        self.num_layers, self.norm = num_layers, norm

    def _is_causal(self, x: Tensor, mask: Any, claimed: bool | None) -> bool:
        """Whether a mask is causal: as `claimed`, or by its values if that is None."""
        first = self.layers[0].self_attn.batch_first
        sizes = () if x.is_nested else x.size()
        length = sizes[1 if first and len(sizes) != 2 else 0]
        if claimed is not None or mask is None:
            return claimed is True
        causal = square_subsequent_mask(length, mask.device, mask.dtype)
        return mask.size() == causal.size() and bool((mask == causal).all())

    def _passed(self, x: Tensor, *memory: Tensor, **settings: Any) -> Tensor:
        for layer in self.layers:
            x = layer(x, *memory, **settings)
        return x if self.norm is None else self.norm(x)


def _no_sparsity_fast_path(layer: Any) -> str | None:
    """The reason why torch does not use nested tensors for padded batches, or None if it does."""
    if not isinstance(layer, TransformerEncoderLayer):
        return " was not TransformerEncoderLayer"
    attention: Any = layer.self_attn
    reasons = {
        ".norm_first was True": layer.norm_first,
        ".self_attn.batch_first was not True(use batch_first for better inference performance)": (
            not attention.batch_first
        ),
        ".self_attn._qkv_same_embed_dim was not True": not attention._qkv_same_embed_dim,
        ".self_attn was passed bias=False": attention.in_proj_bias is None,
        ".activation_relu_or_gelu was not True": not layer.activation_relu_or_gelu,
        ".norm1.eps was not equal to encoder_layer.norm2.eps": layer.norm1.eps != layer.norm2.eps,
        ".self_attn.num_heads is odd": attention.num_heads % 2 == 1,
    }
    return next((reason for reason, holds in reasons.items() if holds), None)


class TransformerEncoder(_Stack):
    """Copies of an encoder layer (torch.nn.TransformerEncoder)."""

    def __init__(
        self,
        encoder_layer: Module,
        num_layers: int,
        norm: Module | None = None,
        enable_nested_tensor: bool = True,
        mask_check: bool = True,
    ) -> None:
        super().__init__(encoder_layer, num_layers, norm)
        self.enable_nested_tensor, self.mask_check = enable_nested_tensor, mask_check
        reason = _no_sparsity_fast_path(encoder_layer)
        self.use_nested_tensor = enable_nested_tensor and reason is None
        if enable_nested_tensor and reason is not None:
            warnings.warn(
                "enable_nested_tensor is True, but self.use_nested_tensor is False because "
                f"encoder_layer{reason}",
                stacklevel=2,
            )

    def forward(
        self,
        src: Tensor,
        mask: Tensor | None = None,
        src_key_padding_mask: Tensor | None = None,
        is_causal: bool | None = None,
    ) -> Tensor:
        src_key_padding_mask = canonical_padding(src_key_padding_mask, mask, src, "src_", "mask")
        mask = canonical_mask(mask, src, "mask")
        if self._makes_nested(src, mask, src_key_padding_mask):
            return self._without_padding(src, src_key_padding_mask)
        return self._passed(
            src,
            src_mask=mask,
            is_causal=self._is_causal(src, mask, is_causal),
            src_key_padding_mask=src_key_padding_mask,
        )

    def _makes_nested(self, src: Tensor, mask, padding) -> bool:
        """Whether torch makes a nested tensor of the padded batch, as it does in evaluation."""
        first: Any = self.layers[0]
        fits = get_fastpath_enabled() and self.use_nested_tensor and not first.training
        if not fits or src.dim() != 3 or padding is None:
            return False
        if self.mask_check and not is_left_aligned(src, padding.logical_not()):
            return False
        return mask is None and not reason_against_operands((src, *first._operands()))

    def _without_padding(self, src: Tensor, padding) -> Tensor:
        """The result for a nested tensor: padding is left out, and zero in the result.

        Raises AssertionError if a layer does not take its fast path, RuntimeError for no example.
        """
        if not len(src):
            raise RuntimeError("stack expects a non-empty TensorList")
        kept = padding.logical_not().sum(1, keepdim=True)  # the first ones, if not checked
        padded = C.arange(src.shape[1]) >= kept
        warn_nested()
        x = src
        for layer in self.layers:
            if layer._takes_fast_path(x):
                warn_nested(NESTED_IN_A_LAYER)
                x = layer._inferred(x, padded, KEYS)
                continue
            reason = reason_against(layer.self_attn, x, x, x)
            if reason:
                raise AssertionError(
                    "MultiheadAttention does not support NestedTensor outside of its fast path. "
                    f"The fast path was not hit because {reason}"
                )
            x = layer(x, src_key_padding_mask=padded)
        x = x.masked_fill(padded.unsqueeze(-1), 0.0)
        return x if self.norm is None else self.norm(x)


class TransformerDecoder(_Stack):
    """Copies of a decoder layer (torch.nn.TransformerDecoder)."""

    def __init__(self, decoder_layer: Module, num_layers: int, norm: Module | None = None) -> None:
        super().__init__(decoder_layer, num_layers, norm)

    def forward(
        self,
        tgt: Tensor,
        memory: Tensor,
        tgt_mask: Tensor | None = None,
        memory_mask: Tensor | None = None,
        tgt_key_padding_mask: Tensor | None = None,
        memory_key_padding_mask: Tensor | None = None,
        tgt_is_causal: bool | None = None,
        memory_is_causal: bool = False,
    ) -> Tensor:
        return self._passed(
            tgt,
            memory,
            tgt_mask=tgt_mask,
            memory_mask=memory_mask,
            tgt_key_padding_mask=tgt_key_padding_mask,
            memory_key_padding_mask=memory_key_padding_mask,
            tgt_is_causal=self._is_causal(tgt, tgt_mask, tgt_is_causal),
            memory_is_causal=memory_is_causal,
        )


class Transformer(Module):
    """An encoder and a decoder (torch.nn.Transformer).

    Raises RuntimeError for inputs of another width, and for batches of different sizes.
    """

    def __init__(
        self,
        d_model: int = 512,
        nhead: int = 8,
        num_encoder_layers: int = 6,
        num_decoder_layers: int = 6,
        dim_feedforward: int = 2048,
        dropout: float = 0.1,
        activation=F.relu,
        custom_encoder: Module | None = None,
        custom_decoder: Module | None = None,
        layer_norm_eps: float = 1e-5,
        batch_first: bool = False,
        norm_first: bool = False,
        bias: bool = True,
        device=None,
        dtype=None,
    ) -> None:
        super().__init__()
        factory = {"device": device, "dtype": dtype}
        settings = d_model, nhead, dim_feedforward, dropout, activation, layer_norm_eps
        more = batch_first, norm_first, bias, device, dtype

        def norm() -> LayerNorm:
            return LayerNorm(d_model, eps=layer_norm_eps, bias=bias, **factory)

        if custom_encoder is None:
            layer: Module = TransformerEncoderLayer(*settings, *more)
            custom_encoder = TransformerEncoder(layer, num_encoder_layers, norm())
        self.encoder = custom_encoder
        if custom_decoder is None:
            layer = TransformerDecoderLayer(*settings, *more)
            custom_decoder = TransformerDecoder(layer, num_decoder_layers, norm())
        self.decoder = custom_decoder
        for parameter in self.parameters():
            if parameter.dim() > 1:
                xavier_uniform_(parameter)
        self.d_model, self.nhead, self.batch_first = d_model, nhead, batch_first

    def forward(
        self,
        src: Tensor,
        tgt: Tensor,
        src_mask: Tensor | None = None,
        tgt_mask: Tensor | None = None,
        memory_mask: Tensor | None = None,
        src_key_padding_mask: Tensor | None = None,
        tgt_key_padding_mask: Tensor | None = None,
        memory_key_padding_mask: Tensor | None = None,
        src_is_causal: bool | None = None,
        tgt_is_causal: bool | None = None,
        memory_is_causal: bool = False,
    ) -> Tensor:
        is_batched, batch = src.dim() == 3, 0 if self.batch_first else 1
        if src.size(batch) != tgt.size(batch) and is_batched:
            raise RuntimeError("the batch number of src and tgt must be equal")
        if src.size(-1) != self.d_model or tgt.size(-1) != self.d_model:
            raise RuntimeError("the feature number of src and tgt must be equal to d_model")
        memory = self.encoder(
            src, mask=src_mask, src_key_padding_mask=src_key_padding_mask, is_causal=src_is_causal
        )
        return self.decoder(
            tgt,
            memory,
            tgt_mask=tgt_mask,
            memory_mask=memory_mask,
            tgt_key_padding_mask=tgt_key_padding_mask,
            memory_key_padding_mask=memory_key_padding_mask,
            tgt_is_causal=tgt_is_causal,
            memory_is_causal=memory_is_causal,
        )

    @staticmethod
    def generate_square_subsequent_mask(sz: int, device=None, dtype=None) -> Tensor:
        """The causal mask (sz, sz): minus infinity above the diagonal, zero elsewhere."""
        return square_subsequent_mask(sz, device, dtype)
