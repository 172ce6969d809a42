"""Activations with parameters, and attention."""

from __future__ import annotations

from impl.creation import empty
from impl.nn import functional as F
from impl.nn import init
from impl.nn.init import constant_
from impl.nn.modules.linear import NonDynamicallyQuantizableLinear
from impl.nn.modules.module import Module
from impl.nn.parameter import Parameter
from impl.tensor import Tensor


class PReLU(Module):
    """relu with a learnt slope, one or one for each channel (torch.nn.PReLU)."""

    def __init__(
        self, num_parameters: int = 1, init: float = 0.25, device=None, dtype=None
    ) -> None:
        super().__init__()
        self.num_parameters = num_parameters
        self.init = init
        self.weight = Parameter(empty(num_parameters, dtype=dtype))
        constant_(self.weight, init)

    def forward(self, input: Tensor) -> Tensor:
        return F.prelu(input, self.weight)

    def extra_repr(self) -> str:
        return f"num_parameters={self.num_parameters}"


class MultiheadAttention(Module):
    """Several attentions side by side, over projections (torch.nn.MultiheadAttention).

    A. Vaswani et al., NeurIPS 2017. Raises NotImplementedError for keys and values of other widths,
    for their extra biases and for the attention to zero.
    """

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
        if (
            add_bias_kv
            or add_zero_attn
            or (kdim or embed_dim, vdim or embed_dim)
            != (
                embed_dim,
                embed_dim,
            )
        ):
            raise NotImplementedError("MultiheadAttention with kdim, vdim or added rows")
        super().__init__()
        self.embed_dim, self.num_heads = embed_dim, num_heads
        self.dropout, self.batch_first = dropout, batch_first
        self.head_dim = embed_dim // num_heads
        if self.head_dim * num_heads != embed_dim:
            raise AssertionError("embed_dim must be divisible by num_heads")
        self.in_proj_weight = Parameter(empty((3 * embed_dim, embed_dim), dtype=dtype))
        self.register_parameter(
            "in_proj_bias", Parameter(empty(3 * embed_dim, dtype=dtype)) if bias else None
        )
        self.out_proj = NonDynamicallyQuantizableLinear(
            embed_dim, embed_dim, bias=bias, dtype=dtype
        )
        init.xavier_uniform_(self.in_proj_weight)
        if bias:
            init.constant_(self.in_proj_bias, 0.0)
            init.constant_(self.out_proj.bias, 0.0)

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
        batched = query._raw.ndim == 3
        if self.batch_first and batched:
            if key is value:
                same = query is key
                query, key = (t.transpose(1, 0) for t in (query, key))
                query, key = (query, query) if same else (query, key)
                value = key
            else:
                query, key, value = (t.transpose(1, 0) for t in (query, key, value))
        output, weights = F.multi_head_attention_forward(
            query,
            key,
            value,
            self.embed_dim,
            self.num_heads,
            self.in_proj_weight,
            self.in_proj_bias,
            None,
            None,
            False,
            self.dropout,
            self.out_proj.weight,
            self.out_proj.bias,
            training=self.training,
            key_padding_mask=key_padding_mask,
            need_weights=need_weights,
            attn_mask=attn_mask,
            average_attn_weights=average_attn_weights,
            is_causal=is_causal,
        )
        if self.batch_first and batched:
            output = output.transpose(1, 0)
        return output, weights


class RReLU(Module):
    """relu with slopes below 0 drawn from a range in training, else their mean (torch.nn.RReLU)."""

    def __init__(
        self, lower: float = 1.0 / 8, upper: float = 1.0 / 3, inplace: bool = False
    ) -> None:
        super().__init__()
        self.lower, self.upper, self.inplace = lower, upper, inplace

    def forward(self, input: Tensor) -> Tensor:
        return F.rrelu(input, self.lower, self.upper, self.training, self.inplace)

    def extra_repr(self) -> str:
        text = f"lower={self.lower}, upper={self.upper}"
        return text + (", inplace=True" if self.inplace else "")


class Softmax2d(Module):
    """softmax over the channels of (N, C, H, W) or (C, H, W) (torch.nn.Softmax2d)."""

    def forward(self, input: Tensor) -> Tensor:
        if input._raw.ndim not in (3, 4):
            raise ValueError(
                f"Softmax2d: expected input to be 3D or 4D, got {input._raw.ndim}D instead"
            )
        return F.softmax(input, -3)
