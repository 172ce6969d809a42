"""Convolutions as layers."""

from __future__ import annotations

from typing import Any, ClassVar

from impl.nn import functional as F
from impl.nn.modules.families import by_dimension, nondefault
from impl.nn.modules.linear import draw_like_linear
from impl.nn.modules.module import Module
from impl.nn.parameter import empty_parameter
from impl.nn.sizes import _pair, _reverse_repeat_tuple, _single, _triple
from impl.tensor.tensor import Tensor

_PADDINGS = {"same", "valid"}
_PADDING_MODES = {"zeros", "reflect", "replicate", "circular"}
_NTUPLES = {1: _single, 2: _pair, 3: _triple}


def _check_padding(padding: str, stride) -> None:
    if padding not in _PADDINGS:
        raise ValueError(f"Invalid padding string {padding!r}, should be one of {_PADDINGS}")
    if padding == "same" and any(s != 1 for s in stride):
        raise ValueError("padding='same' is not supported for strided convolutions")


class _ConvNd(Module):
    """Settings and parameters of a convolution over `_ndim` dimensions."""

    _ndim: int
    transposed = False
    _impl_added_attributes: ClassVar[dict[str, Any]] = {"padding_mode": "zeros"}

    def _set_up(
        self, channels, geometry, groups: int, bias: bool, padding_mode: str, factory
    ) -> None:
        """Check and keep the settings, and create the parameters.

        `channels` are those of input and output; `geometry` is kernel size, stride, padding,
        dilation and output padding, each for each dimension.
        """
        super().__init__()
        if groups <= 0:
            raise ValueError("groups must be a positive integer")
        for name, count in zip(("in_channels", "out_channels"), channels, strict=True):
            if count % groups != 0:
                raise ValueError(f"{name} must be divisible by groups")
        kernel_size, stride, padding, dilation, output_padding = geometry
        if isinstance(padding, str):
            _check_padding(padding, stride)
        if padding_mode not in _PADDING_MODES:
            raise ValueError(
                f"padding_mode must be one of {_PADDING_MODES}, but got padding_mode="
                f"'{padding_mode}'"
            )
        self.in_channels, self.out_channels = channels
        self.kernel_size, self.stride, self.padding = kernel_size, stride, padding
        self.dilation, self.output_padding = dilation, output_padding
        self.transposed, self.groups, self.padding_mode = self.transposed, groups, padding_mode
        self._reversed_padding_repeated_twice = self._sides()
        self.weight = empty_parameter(self._weight_shape(), **factory)
        self.register_parameter("bias", empty_parameter(self.out_channels, bias, **factory))
        self.reset_parameters()

    def _sides(self):
        """The padding as `F.pad` takes it: both sides of each dimension, the last one first."""
        if not isinstance(self.padding, str):
            return _reverse_repeat_tuple(self.padding, 2)
        sides = [0, 0] * len(self.kernel_size)
        if self.padding == "same":
            last = len(self.kernel_size) - 1
            sizes = zip(self.dilation, self.kernel_size, strict=False)
            for place, (gap, size) in enumerate(sizes):
                total = gap * (size - 1)
                first = 2 * (last - place)
                sides[first : first + 2] = total // 2, total - total // 2
        return sides

    def _weight_shape(self) -> tuple[int, ...]:
        channels = self.out_channels, self.in_channels
        first, second = reversed(channels) if self.transposed else channels
        return first, second // self.groups, *self.kernel_size

    def reset_parameters(self) -> None:
        """Draw weight and bias."""
        draw_like_linear(self.weight, self.bias)

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
        several = _NTUPLES[self._ndim]
        geometry = (
            several(kernel_size),
            several(stride),
            padding if isinstance(padding, str) else several(padding),
            several(dilation),
            several(0),
        )
        factory = {"device": device, "dtype": dtype}
        self._set_up((in_channels, out_channels), geometry, groups, bias, padding_mode, factory)

    def forward(self, input: Tensor) -> Tensor:
        padding = self.padding
        if self.padding_mode != "zeros":
            input = F.pad(input, self._reversed_padding_repeated_twice, mode=self.padding_mode)
            padding = (0,) * self._ndim
        convolve = getattr(F, f"conv{self._ndim}d")
        settings = (self.stride, padding, self.dilation, self.groups)
        return convolve(input, self.weight, self.bias, *settings)


class _ConvTransposeNd(_ConvNd):
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
        several = _NTUPLES[self._ndim]
        settings = kernel_size, stride, padding, dilation, output_padding
        geometry = tuple(map(several, settings))
        if padding_mode != "zeros":
            raise ValueError(f'Only "zeros" padding mode is supported for {type(self).__name__}')
        factory = {"device": device, "dtype": dtype}
        self._set_up((in_channels, out_channels), geometry, groups, bias, padding_mode, factory)

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
            return _single(self.output_padding)
        rank, ndim = input.dim(), self._ndim
        others = 2 if rank == ndim + 2 else 1
        if len(output_size) == others + ndim:
            output_size = output_size[others:]
        if len(output_size) != ndim:
            raise ValueError(
                f"ConvTranspose{ndim}D: for {rank}D input, output_size must have {ndim} or "
                f"{others + ndim} elements (got {len(output_size)})"
            )
        smallest, largest = [], []
        for d in range(ndim):
            size = (input.size(others + d) - 1) * self.stride[d] - 2 * self.padding[d]
            smallest.append(size + self.dilation[d] * (self.kernel_size[d] - 1) + 1)
            largest.append(smallest[d] + self.stride[d] - 1)
        for d in range(ndim):
            if output_size[d] < smallest[d] or output_size[d] > largest[d]:
                raise ValueError(
                    f"requested an output size of {output_size}, but valid sizes range from "
                    f"{smallest} to {largest} (for an input of {input.size()[2:]})"
                )
        return tuple(output_size[d] - smallest[d] for d in range(ndim))


Conv1d, Conv2d, Conv3d = by_dimension(_Convolution, "Conv{}d", "A convolution over {}")
ConvTranspose1d, ConvTranspose2d, ConvTranspose3d = by_dimension(
    _ConvTransposeNd, "ConvTranspose{}d", "A transposed convolution over {}"
)
