"""Pooling and unpooling as layers."""

from __future__ import annotations

from typing import Any

from impl.nn import functional as F
from impl.nn.modules.families import by_dimension, each_dimension
from impl.nn.modules.function_layer import layers_of
from impl.nn.modules.module import Module
from impl.tensor.tensor import Tensor

_layer = layers_of(__name__)


def _pools(name: str, function: str, size: str, ndims=(1, 2, 3), /, **settings) -> list[type[Any]]:
    """A layer for each number of dimensions, which replaces `{}` in the names."""
    return [_layer(name.format(n), function.format(n), size, **settings) for n in ndims]


_WINDOW: dict[str, Any] = {"stride": None, "padding": 0}
_MEAN = {**_WINDOW, "ceil_mode": False, "count_include_pad": True}
_FRACTION = {"output_size": None, "output_ratio": None}

MaxPool1d, MaxPool2d, MaxPool3d = _pools(
    "MaxPool{}d",
    "max_pool{}d",
    "kernel_size",
    **_WINDOW,
    dilation=1,
    return_indices=False,
    ceil_mode=False,
)
AvgPool1d = _layer("AvgPool1d", "avg_pool1d", "kernel_size", **_MEAN)
AvgPool2d, AvgPool3d = _pools(
    "AvgPool{}d", "avg_pool{}d", "kernel_size", (2, 3), **_MEAN, divisor_override=None
)
AdaptiveAvgPool1d, AdaptiveAvgPool2d, AdaptiveAvgPool3d = _pools(
    "AdaptiveAvgPool{}d", "adaptive_avg_pool{}d", "output_size"
)
AdaptiveMaxPool1d, AdaptiveMaxPool2d, AdaptiveMaxPool3d = _pools(
    "AdaptiveMaxPool{}d", "adaptive_max_pool{}d", "output_size", return_indices=False
)
FractionalMaxPool2d, FractionalMaxPool3d = _pools(
    "FractionalMaxPool{}d",
    "fractional_max_pool{}d",
    "kernel_size",
    (2, 3),
    **_FRACTION,
    return_indices=False,
    _random_samples=None,
)


class _LPPoolNd(Module):
    _ndim: int

    def __init__(self, norm_type: float, kernel_size, stride=None, ceil_mode: bool = False) -> None:
        super().__init__()
        self.norm_type, self.kernel_size = norm_type, kernel_size
        self.stride, self.ceil_mode = stride, ceil_mode

    def forward(self, input: Tensor) -> Tensor:
        pool = getattr(F, f"lp_pool{self._ndim}d")
        return pool(input, float(self.norm_type), self.kernel_size, self.stride, self.ceil_mode)

    def extra_repr(self) -> str:
        return (
            f"norm_type={self.norm_type}, kernel_size={self.kernel_size}, stride={self.stride}, "
            f"ceil_mode={self.ceil_mode}"
        )


class _MaxUnpoolNd(Module):
    _ndim: int

    def __init__(self, kernel_size, stride=None, padding=0) -> None:
        super().__init__()
        self.kernel_size = each_dimension(kernel_size, self._ndim)
        self.stride = each_dimension(kernel_size if stride is None else stride, self._ndim)
        self.padding = each_dimension(padding, self._ndim)

    def forward(self, input: Tensor, indices: Tensor, output_size=None) -> Tensor:
        unpool = getattr(F, f"max_unpool{self._ndim}d")
        return unpool(input, indices, self.kernel_size, self.stride, self.padding, output_size)

    def extra_repr(self) -> str:
        return f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}"


LPPool1d, LPPool2d, LPPool3d = by_dimension(_LPPoolNd, "LPPool{}d", "The p-norms of windows of {}")
MaxUnpool1d, MaxUnpool2d, MaxUnpool3d = by_dimension(
    _MaxUnpoolNd, "MaxUnpool{}d", "Maxima put back in their places in {}"
)
