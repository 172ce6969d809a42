"""Convolutions as layers."""

from __future__ import annotations

import math

from impl.creation import empty
from impl.nn import functional as F
from impl.nn import init
from impl.nn.modules.linear import fan_in_bound
from impl.nn.modules.module import Module
from impl.nn.parameter import Parameter
from impl.tensor import Tensor

_PADDING_MODES = {"zeros", "reflect", "replicate", "circular"}


def _several(value, ndim: int) -> tuple[int, ...]:
    return (value,) * ndim if isinstance(value, int) else tuple(value)


class _Convolution(Module):
    ndim: int
    transposed = False

    def _set_up(
        self,
        in_channels,
        out_channels,
        kernel_size,
        stride,
        padding,
        dilation,
        output_padding,
        groups,
        bias,
        padding_mode,
        dtype,
    ) -> None:
        if groups <= 0:
            raise ValueError("groups must be a positive integer")
        if in_channels % groups:
            raise ValueError("in_channels must be divisible by groups")
        if out_channels % groups:
            raise ValueError("out_channels must be divisible by groups")
        self.in_channels, self.out_channels, self.groups = in_channels, out_channels, groups
        self.kernel_size = _several(kernel_size, self.ndim)
        self.stride = _several(stride, self.ndim)
        self.dilation = _several(dilation, self.ndim)
        self.output_padding = _several(output_padding, self.ndim)
        if isinstance(padding, str):
            if padding not in ("same", "valid"):
                raise ValueError(
                    f"Invalid padding string {padding!r}, should be one of {{'same', 'valid'}}"
                )
            if padding == "same" and any(s != 1 for s in self.stride):
                raise ValueError("padding='same' is not supported for strided convolutions")
            self.padding: str | tuple[int, ...] = padding
        else:
            self.padding = _several(padding, self.ndim)
        if padding_mode not in _PADDING_MODES:
            raise ValueError(
                f"padding_mode must be one of {_PADDING_MODES}, but got padding_mode="
                f"'{padding_mode}'"
            )
        self.padding_mode = padding_mode
        first, second = out_channels, in_channels // groups
        if self.transposed:
            first, second = in_channels, out_channels // groups
        self.weight = Parameter(empty((first, second, *self.kernel_size), dtype=dtype))
        if bias:
            self.bias = Parameter(empty(out_channels, dtype=dtype))
        else:
            self.register_parameter("bias", None)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw weight and bias."""
        init.kaiming_uniform_(self.weight, a=math.sqrt(5))
        if self.bias is not None and self.weight.size(1):
            bound = fan_in_bound(self.weight)
            if bound:
                init.uniform_(self.bias, -bound, bound)

    def _around(self) -> tuple[int, ...]:
        """The padding as `F.pad` takes it: both sides of each dimension, the last one first."""
        sides: list[int] = []
        for axis in reversed(range(self.ndim)):
            if self.padding == "valid":
                sides += [0, 0]
            elif self.padding == "same":
                total = self.dilation[axis] * (self.kernel_size[axis] - 1)
                sides += [total // 2, total - total // 2]
            else:
                sides += [self.padding[axis]] * 2  # type: ignore[list-item]
        return tuple(sides)

    def extra_repr(self) -> str:
        parts = [
            f"{self.in_channels}, {self.out_channels}",
            f"kernel_size={self.kernel_size}",
            f"stride={self.stride}",
        ]
        if isinstance(self.padding, str) or any(self.padding):
            parts.append(f"padding={self.padding}")
        if any(d != 1 for d in self.dilation):
            parts.append(f"dilation={self.dilation}")
        if any(self.output_padding):
            parts.append(f"output_padding={self.output_padding}")
        if self.groups != 1:
            parts.append(f"groups={self.groups}")
        if self.bias is None:
            parts.append("bias=False")
        if self.padding_mode != "zeros":
            parts.append(f"padding_mode={self.padding_mode}")
        return ", ".join(parts)


class _Plain(_Convolution):
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
        super().__init__()
        self._set_up(
            in_channels,
            out_channels,
            kernel_size,
            stride,
            padding,
            dilation,
            0,
            groups,
            bias,
            padding_mode,
            dtype,
        )

    def forward(self, input: Tensor) -> Tensor:
        padding = self.padding
        if self.padding_mode != "zeros":
            input = F.pad(input, self._around(), mode=self.padding_mode)
            padding = (0,) * self.ndim
        convolve = getattr(F, f"conv{self.ndim}d")
        settings = (self.stride, padding, self.dilation, self.groups)
        return convolve(input, self.weight, self.bias, *settings)


class Conv1d(_Plain):
    """A convolution over (N, C, L) (torch.nn.Conv1d)."""

    ndim = 1


class Conv2d(_Plain):
    """A convolution over (N, C, H, W) (torch.nn.Conv2d)."""

    ndim = 2


class Conv3d(_Plain):
    """A convolution over (N, C, D, H, W) (torch.nn.Conv3d)."""

    ndim = 3


class _Transposed(_Convolution):
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
        if padding_mode != "zeros":
            raise ValueError(f'Only "zeros" padding mode is supported for {type(self).__name__}')
        super().__init__()
        self._set_up(
            in_channels,
            out_channels,
            kernel_size,
            stride,
            padding,
            dilation,
            output_padding,
            groups,
            bias,
            padding_mode,
            dtype,
        )

    def forward(self, input: Tensor, output_size=None) -> Tensor:
        more = self._output_padding(input, output_size)
        convolve = getattr(F, f"conv_transpose{self.ndim}d")
        settings = (self.stride, self.padding, more, self.groups, self.dilation)
        return convolve(input, self.weight, self.bias, *settings)

    def _output_padding(self, input: Tensor, output_size) -> tuple[int, ...]:
        """What is added at the ends so that the output has a size (of the spatial dimensions, or
        of all). Raises ValueError for a size that the strides do not reach."""
        if output_size is None:
            return self.output_padding
        rank, ndim = input._raw.ndim, self.ndim
        others = 2 if rank == ndim + 2 else 1
        if len(output_size) == others + ndim:
            output_size = output_size[others:]
        if len(output_size) != ndim:
            raise ValueError(
                f"ConvTranspose{ndim}D: for {rank}D input, output_size must have {ndim} or "
                f"{others + ndim} elements (got {len(output_size)})"
            )
        least = [
            (input.size(others + d) - 1) * self.stride[d]
            - 2 * int(self.padding[d])
            + self.dilation[d] * (self.kernel_size[d] - 1)
            + 1
            for d in range(ndim)
        ]
        most = [size + step - 1 for size, step in zip(least, self.stride, strict=True)]
        triples = list(zip(least, output_size, most, strict=True))
        if any(not low <= size <= high for low, size, high in triples):
            raise ValueError(
                f"requested an output size of {output_size}, but valid sizes range from {least} "
                f"to {most} (for an input of {input.size()[2:]})"
            )
        return tuple(size - low for low, size, _ in triples)


class ConvTranspose1d(_Transposed):
    """A transposed convolution over (N, C, L) (torch.nn.ConvTranspose1d)."""

    ndim = 1


class ConvTranspose2d(_Transposed):
    """A transposed convolution over (N, C, H, W) (torch.nn.ConvTranspose2d)."""

    ndim = 2


class ConvTranspose3d(_Transposed):
    """A transposed convolution over (N, C, D, H, W) (torch.nn.ConvTranspose3d)."""

    ndim = 3
