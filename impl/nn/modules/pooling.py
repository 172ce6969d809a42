"""Pooling and unpooling as layers."""

from __future__ import annotations

from typing import Any

from impl.nn import functional as F
from impl.nn.modules.families import by_dimension, each_dimension
from impl.nn.modules.function_layer import _FunctionLayer, layers_of
from impl.nn.modules.module import Module
from impl.tensor.tensor import Tensor


class _Window(_FunctionLayer):
    """A window steps by its own size unless a stride is given."""

    def _kept(self, settings: dict[str, Any]) -> dict[str, Any]:
        stride = settings["stride"]
        return {**settings, "stride": settings["kernel_size"] if stride is None else stride}


class _Window1d(_Window):
    def _kept(self, settings: dict[str, Any]) -> dict[str, Any]:
        sizes = super()._kept(settings)
        keys = ("kernel_size", "stride", "padding")
        return {**sizes, **{key: each_dimension(sizes[key], 1) for key in keys}}


_layer = layers_of(__name__)
_window = layers_of(__name__, _Window)


def _pools(
    make, name: str, function: str, size: str, ndims=(1, 2, 3), /, **settings
) -> list[type[Any]]:
    """A layer for each number of dimensions, which replaces `{}` in the names."""
    return [make(name.format(n), function.format(n), size, **settings) for n in ndims]


_SIZES: dict[str, Any] = {"stride": None, "padding": 0}
_MEAN = {**_SIZES, "ceil_mode": False, "count_include_pad": True}
_SIZES_TEXT = "kernel_size={kernel_size}, stride={stride}, padding={padding}"
_OUTPUT_TEXT = "output_size={output_size}"

MaxPool1d, MaxPool2d, MaxPool3d = _pools(
    _window,
    "MaxPool{}d",
    "max_pool{}d",
    "kernel_size",
    **_SIZES,
    dilation=1,
    return_indices=False,
    ceil_mode=False,
    text=_SIZES_TEXT + ", dilation={dilation}, ceil_mode={ceil_mode}",
)
AvgPool1d = layers_of(__name__, _Window1d)(
    "AvgPool1d", "avg_pool1d", "kernel_size", **_MEAN, text=_SIZES_TEXT
)
AvgPool2d, AvgPool3d = _pools(
    _window,
    "AvgPool{}d",
    "avg_pool{}d",
    "kernel_size",
    (2, 3),
    **_MEAN,
    divisor_override=None,
    text=_SIZES_TEXT,
)
AvgPool3d._impl_added_attributes = {"padding": 0, "ceil_mode": False, "count_include_pad": True}
AdaptiveAvgPool1d, AdaptiveAvgPool2d, AdaptiveAvgPool3d = _pools(
    _layer, "AdaptiveAvgPool{}d", "adaptive_avg_pool{}d", "output_size", text=_OUTPUT_TEXT
)
AdaptiveMaxPool1d, AdaptiveMaxPool2d, AdaptiveMaxPool3d = _pools(
    _layer,
    "AdaptiveMaxPool{}d",
    "adaptive_max_pool{}d",
    "output_size",
    return_indices=False,
    text=_OUTPUT_TEXT,
)


class _FractionalMaxPoolNd(Module):
    """Raises ValueError unless either a size or a ratio in (0, 1) is given."""

    _ndim: int

    def __init__(
        self,
        kernel_size,
        output_size=None,
        output_ratio=None,
        return_indices: bool = False,
        _random_samples: Tensor | None = None,
    ) -> None:
        super().__init__()
        if self._ndim == 3:
            _check_positive(kernel_size)
        self.kernel_size = each_dimension(kernel_size, self._ndim)
        self.return_indices = return_indices
        self.register_buffer("_random_samples", _random_samples)
        self.output_size, self.output_ratio = (
            value if value is None else each_dimension(value, self._ndim)
            for value in (output_size, output_ratio)
        )
        kind = type(self).__name__
        if output_size is None and output_ratio is None:
            raise ValueError(
                f"{kind} requires specifying either an output size, or a pooling ratio"
            )
        if output_size is not None and output_ratio is not None:
            raise ValueError("only one of output_size and output_ratio may be specified")
        if self.output_ratio is not None:
            ratios = (self.output_ratio[i] for i in range(self._ndim))
            if not all(0 < ratio < 1 for ratio in ratios):
                raise ValueError(f"output_ratio must be between 0 and 1 (got {output_ratio})")

    def forward(self, input: Tensor):
        pool = getattr(F, f"fractional_max_pool{self._ndim}d")
        settings = self.output_size, self.output_ratio, self.return_indices, self._random_samples
        return pool(input, self.kernel_size, *settings)


def _check_positive(kernel_size) -> None:
    listed = (kernel_size,) if isinstance(kernel_size, int) else kernel_size
    if isinstance(listed, (tuple, list)) and not all(k > 0 for k in listed):
        raise ValueError(f"kernel_size must be greater than 0, but got {kernel_size}")


class _LPPoolNd(Module):
    _ndim: int

    def __init__(self, norm_type: float, kernel_size, stride=None, ceil_mode: bool = False) -> None:
        super().__init__()
        if norm_type == 0:
            raise ValueError(f"norm_type must be a non-zero value, but got {norm_type}")
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
FractionalMaxPool2d, FractionalMaxPool3d = by_dimension(
    _FractionalMaxPoolNd, "FractionalMaxPool{}d", "The maxima of random windows of {}", (2, 3)
)
MaxUnpool1d, MaxUnpool2d, MaxUnpool3d = by_dimension(
    _MaxUnpoolNd, "MaxUnpool{}d", "Maxima put back in their places in {}"
)
