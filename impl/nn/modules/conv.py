"""Convolutions as layers."""

from __future__ import annotations

import math

from impl.core.devices import check_device
from impl.nn import functional as F
from impl.nn import init
from impl.nn.modules.families import by_dimension, each_dimension, nondefault
from impl.nn.modules.linear import fan_in_bound
from impl.nn.modules.module import Module
from impl.nn.parameter import empty_parameter
from impl.tensor.tensor import Tensor

_PADDING_MODES = {"zeros", "reflect", "replicate", "circular"}


class _ConvNd(Module):
    """Settings and parameters of a convolution over `_ndim` dimensions."""

    _ndim: int
    transposed = False

    def _set_up(self, channels, geometry, groups: int, bias: bool, padding_mode: str, dtype):
        """Check and keep the settings, and create the parameters.

        `channels` are those of input and output; `geometry` is kernel size, stride, padding,
        dilation and output padding.
        """
        super().__init__()
        if groups <= 0:
            raise ValueError("groups must be a positive integer")
        self.in_channels, self.out_channels = channels
        self.groups = groups
        for name in ("in_channels", "out_channels"):
            if getattr(self, name) % groups:
                raise ValueError(f"{name} must be divisible by groups")
        kernel_size, stride, padding, dilation, output_padding = geometry
        self.kernel_size = each_dimension(kernel_size, self._ndim)
        self.stride = each_dimension(stride, self._ndim)
        self.dilation = each_dimension(dilation, self._ndim)
        self.output_padding = each_dimension(output_padding, self._ndim)
        self.padding: str | tuple[int, ...] = padding
        if not isinstance(padding, str):
            self.padding = each_dimension(padding, self._ndim)
        elif padding not in ("same", "valid"):
            raise ValueError(
                f"Invalid padding string {padding!r}, should be one of {{'same', 'valid'}}"
            )
        elif padding == "same" and any(s != 1 for s in self.stride):
            raise ValueError("padding='same' is not supported for strided convolutions")
        if padding_mode not in _PADDING_MODES:
            raise ValueError(
                f"padding_mode must be one of {_PADDING_MODES}, but got padding_mode="
                f"'{padding_mode}'"
            )
        self.padding_mode = padding_mode
        self.weight = empty_parameter(self._weight_shape(), dtype)
        self.register_parameter("bias", empty_parameter(self.out_channels, dtype, bias))
        self.reset_parameters()

    def _weight_shape(self) -> tuple[int, ...]:
        channels = self.out_channels, self.in_channels
        first, second = reversed(channels) if self.transposed else channels
        return first, second // self.groups, *self.kernel_size

    def reset_parameters(self) -> None:
        """Draw weight and bias."""
        init.kaiming_uniform_(self.weight, a=math.sqrt(5))
        bound = 0 if self.bias is None else fan_in_bound(self.weight)
        if bound:
            init.uniform_(self.bias, -bound, bound)

    def extra_repr(self) -> str:
        text = f"{self.in_channels}, {self.out_channels}"
        text += f", kernel_size={self.kernel_size}, stride={self.stride}"
        text += nondefault(
            self,
            padding=(0,) * len(self.padding),
            dilation=(1,) * len(self.dilation),
            output_padding=(0,) * len(self.output_padding),
            groups=1,
        )
        if self.bias is None:
            text += ", bias=False"
        return text + nondefault(self, padding_mode="zeros")


class _Convolution(_ConvNd):
    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size,
        stride=1,
        padding=0,
        dilation=1,
        groups: int = 1,
        bias: bool = True,
        padding_mode: str = "zeros",
        device=None,
        dtype=None,
    ) -> None:
        check_device(device)
        geometry = kernel_size, stride, padding, dilation, 0
        self._set_up((in_channels, out_channels), geometry, groups, bias, padding_mode, dtype)

    def forward(self, input: Tensor) -> Tensor:
        padding = self.padding
        if self.padding_mode != "zeros":
            input = F.pad(input, self._sides(), mode=self.padding_mode)
            padding = (0,) * self._ndim
        convolve = getattr(F, f"conv{self._ndim}d")
        settings = (self.stride, padding, self.dilation, self.groups)
        return convolve(input, self.weight, self.bias, *settings)

    def _sides(self) -> tuple[int, ...]:
        """The padding as `F.pad` takes it: both sides of each dimension, the last one first."""
        sides: list[int] = []
        for axis in reversed(range(self._ndim)):
            if self.padding == "same":
                total = self.dilation[axis] * (self.kernel_size[axis] - 1)
                sides += [total // 2, total - total // 2]
            else:
                sides += [0 if self.padding == "valid" else self.padding[axis]] * 2  # type: ignore[list-item]
        return tuple(sides)


class _TransposedConvolution(_ConvNd):
    transposed = True

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size,
        stride=1,
        padding=0,
        output_padding=0,
        groups: int = 1,
        bias: bool = True,
        dilation=1,
        padding_mode: str = "zeros",
        device=None,
        dtype=None,
    ) -> None:
        check_device(device)
        if padding_mode != "zeros":
            raise ValueError(f'Only "zeros" padding mode is supported for {type(self).__name__}')
        geometry = kernel_size, stride, padding, dilation, output_padding
        self._set_up((in_channels, out_channels), geometry, groups, bias, padding_mode, dtype)

    def forward(self, input: Tensor, output_size=None) -> Tensor:
        added = self._output_padding(input, output_size)
        convolve = getattr(F, f"conv_transpose{self._ndim}d")
        settings = (self.stride, self.padding, added, self.groups, self.dilation)
        return convolve(input, self.weight, self.bias, *settings)

    def _output_padding(self, input: Tensor, output_size) -> tuple[int, ...]:
        """The output padding that gives an output size (of the spatial dimensions, or of all).

        Raises ValueError for a size that the strides do not reach.
        """
        if output_size is None:
            return self.output_padding
        rank, ndim = input._raw.ndim, self._ndim
        others = 2 if rank == ndim + 2 else 1
        if len(output_size) == others + ndim:
            output_size = output_size[others:]
        if len(output_size) != ndim:
            raise ValueError(
                f"ConvTranspose{ndim}D: for {rank}D input, output_size must have {ndim} or "
                f"{others + ndim} elements (got {len(output_size)})"
            )
        smallest = [
            (input.size(others + d) - 1) * self.stride[d]
            - 2 * int(self.padding[d])
            + self.dilation[d] * (self.kernel_size[d] - 1)
            + 1
            for d in range(ndim)
        ]
        largest = [size + step - 1 for size, step in zip(smallest, self.stride, strict=True)]
        triples = list(zip(smallest, output_size, largest, strict=True))
        if any(not low <= size <= high for low, size, high in triples):
            raise ValueError(
                f"requested an output size of {output_size}, but valid sizes range from {smallest} "
                f"to {largest} (for an input of {input.size()[2:]})"
            )
        return tuple(size - low for low, size, _ in triples)


Conv1d, Conv2d, Conv3d = by_dimension(_Convolution, "Conv{}d", "A convolution over {}")
ConvTranspose1d, ConvTranspose2d, ConvTranspose3d = by_dimension(
    _TransposedConvolution, "ConvTranspose{}d", "A transposed convolution over {}"
)
