"""Normalisation over the last dimensions, over groups of channels, and over neighbouring ones."""

from __future__ import annotations

import numbers
from typing import Any

from impl.nn import channel_response, init
from impl.nn import functional as F
from impl.nn.modules.function_layer import layers_of
from impl.nn.modules.module import Module
from impl.nn.parameter import empty_parameter
from impl.tensor.tensor import Tensor


class _Affine(Module):
    """A normalisation with an optional weight, ones at first, and an optional bias, zeros."""

    def _register_affine(self, size, factory: dict[str, Any], **wanted: Any) -> None:
        for name, present in wanted.items():
            self.register_parameter(name, empty_parameter(size, present, **factory))

    def _reset_affine(self, affine) -> None:
        if affine:
            init.ones_(self.weight)
            if getattr(self, "bias", None) is not None:
                init.zeros_(self.bias)


class _LastDimensions(_Affine):
    """The settings of a normalisation over the dimensions that `normalized_shape` describes."""

    def _set_up(self, normalized_shape, eps: float | None, affine: bool, factory, **wanted) -> None:
        super().__init__()
        if isinstance(normalized_shape, numbers.Integral):
            normalized_shape = (normalized_shape,)
        self.normalized_shape = tuple(normalized_shape)
        self.eps, self.elementwise_affine = eps, affine
        self._register_affine(self.normalized_shape, factory, **wanted)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Set the weight to ones and the bias to zeros."""
        self._reset_affine(self.elementwise_affine)

    def extra_repr(self) -> str:
        return (
            f"{self.normalized_shape}, eps={self.eps}, elementwise_affine={self.elementwise_affine}"
        )


class LayerNorm(_LastDimensions):
    """Over the last dimensions, by mean and variance (torch.nn.LayerNorm)."""

    def __init__(
        self,
        normalized_shape,
        eps: float = 1e-5,
        elementwise_affine: bool = True,
        bias: bool = True,
        device=None,
        dtype=None,
    ) -> None:
        factory = {"device": device, "dtype": dtype}
        wanted = {"weight": elementwise_affine, "bias": elementwise_affine and bias}
        self._set_up(normalized_shape, eps, elementwise_affine, factory, **wanted)

    def forward(self, input: Tensor) -> Tensor:
        return F.layer_norm(input, self.normalized_shape, self.weight, self.bias, self.eps)

    def extra_repr(self) -> str:
        return f"{super().extra_repr()}, bias={self.bias is not None}"


class RMSNorm(_LastDimensions):
    """Over the last dimensions, by their root mean square (torch.nn.RMSNorm)."""

    def __init__(
        self,
        normalized_shape,
        eps: float | None = None,
        elementwise_affine: bool = True,
        device=None,
        dtype=None,
    ) -> None:
        factory = {"device": device, "dtype": dtype}
        self._set_up(normalized_shape, eps, elementwise_affine, factory, weight=elementwise_affine)

    def forward(self, x: Tensor) -> Tensor:
        return F.rms_norm(x, self.normalized_shape, self.weight, self.eps)


class GroupNorm(_Affine):
    """Over groups of channels (torch.nn.GroupNorm)."""

    def __init__(
        self,
        num_groups: int,
        num_channels: int,
        eps: float = 1e-5,
        affine: bool = True,
        device=None,
        dtype=None,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__()
        if num_channels % num_groups != 0:
            raise ValueError(
                f"num_channels ({num_channels}) must be divisible by num_groups ({num_groups})"
            )
        self.num_groups, self.num_channels = num_groups, num_channels
        self.eps, self.affine = eps, affine
        factory = {"device": device, "dtype": dtype}
        self._register_affine(num_channels, factory, weight=affine, bias=affine and bias)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Set the weight to ones and the bias to zeros."""
        self._reset_affine(self.affine)

    def forward(self, input: Tensor) -> Tensor:
        return F.group_norm(input, self.num_groups, self.weight, self.bias, self.eps)

    def extra_repr(self) -> str:
        return (
            f"{self.num_groups}, {self.num_channels}, eps={self.eps}, affine={self.affine}, "
            f"bias={self.bias is not None}"
        )


class CrossMapLRN2d(Module):
    """Over the `size` channels around each one of (N, C, H, W), with a custom function's backward
    (torch.nn.CrossMapLRN2d). Raises ValueError for another number of dimensions."""

    def __init__(self, size: int, alpha: float = 1e-4, beta: float = 0.75, k: float = 1) -> None:
        super().__init__()
        self.size, self.alpha, self.beta, self.k = size, alpha, beta, k

    def forward(self, input: Tensor) -> Tensor:
        return channel_response.CrossMapLRN2d.apply(input, self.size, self.alpha, self.beta, self.k)

    def extra_repr(self) -> str:
        return f"{self.size}, alpha={self.alpha}, beta={self.beta}, k={self.k}"


_layer = layers_of(__name__)
LocalResponseNorm = _layer(
    "LocalResponseNorm",
    "local_response_norm",
    "size",
    alpha=1e-4,
    beta=0.75,
    k=1.0,
    text="{size}, alpha={alpha}, beta={beta}, k={k}",
)
