"""Unfold and fold: images as columns of their sliding blocks, and back (torch's im2col, col2im).

Each is the other's gradient.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from impl.core.dims import existing_dim
from impl.core.dtypes import BY_NUMPY
from impl.core.state import STATE
from impl.dispatch.definition import Array, native, operator
from impl.dispatch.facts import SavedAs, not_implemented
from impl.operators.images.pooling_windows import Windows
from impl.tensor.tensor import Tensor, requires_grad


def _check(**settings) -> None:
    """Raise RuntimeError for numbers out of range, of the first of the settings that has some."""
    for name, numbers in settings.items():
        word = _WORDS.get(name, name)
        allowed = name == "padding"
        if min(numbers) < (0 if allowed else 1):
            rule = "non-negative" if allowed else "greater than zero"
            height, width = numbers
            raise RuntimeError(
                f"{name.replace('_', ' ')} should be {rule}, but got {word}_height: {height} "
                f"{word}_width: {width}"
            )


_WORDS = {"kernel_size": "kernel", "padding": "pad"}


def _check_dtype(raw, loop: str) -> None:
    kind = BY_NUMPY[raw.dtype]
    if raw.dtype.kind in "iu":
        raise not_implemented(loop, kind)


def _shown(pair) -> str:
    return f"({', '.join(map(str, pair))})"


@operator(
    node="Im2ColBackward0",
    function=False,
    method=False,
    writes=1,
    saved_as=SavedAs(parts=("_sym_argsize_minus_1", "_sym_argsize_minus_2")),
    batching="merged",
)
def im2col(self: Array, kernel_size, dilation, padding, stride) -> Array:
    _check(kernel_size=kernel_size, dilation=dilation, padding=padding, stride=stride)
    if self.shape[existing_dim(1, self.ndim)]:
        existing_dim(2, self.ndim)
    windows = Windows(self.shape[-2:], kernel_size, stride, padding, dilation, False)
    if self.ndim not in (3, 4) or 0 in self.shape[-3:]:
        raise RuntimeError(
            "Expected 3D or 4D (batch mode) tensor with possibly 0 batch size and other non-zero "
            f"dimensions for input, but got: {[*self.shape]}"
        )
    if min(windows.output) < 1:
        raise RuntimeError(
            f"Given input with spatial size {_shown(windows.size)}, "
            f"kernel_size={_shown(kernel_size)}, dilation={_shown(dilation)}, "
            f"padding={_shown(padding)}, calculated shape of the array of sliding blocks as "
            f"{_shown(windows.output)}, but its components must be at least one."
        )
    _check_dtype(self, "im2col_out_cpu")
    lead = self.shape[:-2]
    sides = [(0, 0)] * len(lead) + [(p, p) for p in padding]
    padded = np.pad(self, sides)
    parts = [padded[(..., *where)] for where in windows.slices()]
    return np.stack(parts, len(lead)).reshape(
        *lead[:-1], lead[-1] * math.prod(kernel_size), math.prod(windows.output)
    )


@operator(node="Col2ImBackward0", function=False, method=False, writes=1, batching="merged")
def col2im(self: Array, output_size, kernel_size, dilation, padding, stride) -> Array:
    _check(kernel_size=kernel_size, stride=stride, dilation=dilation, padding=padding)
    windows = Windows(output_size, kernel_size, stride, padding, dilation, False)
    _check_columns(self.shape, windows)
    _check_dtype(self, "col2im_out_cpu")
    lead = (*self.shape[:-2], self.shape[-2] // math.prod(kernel_size))
    columns = self.reshape(*lead, math.prod(kernel_size), *windows.output)
    padded = np.zeros((*lead, *(n + 2 * p for n, p in zip(output_size, padding, strict=True))))
    padded = padded.astype(self.dtype)
    for number, where in enumerate(windows.slices()):
        padded[(..., *where)] += columns[..., number, :, :]
    inside = (slice(p, p + n) for n, p in zip(output_size, padding, strict=True))
    key: Any = (..., *inside)
    return padded[key].copy()


def _check_columns(shape, windows: Windows) -> None:
    if len(shape) not in (2, 3) or 0 in shape[-2:]:
        raise RuntimeError(
            "Expected 2D or 3D (batch mode) tensor for input with possibly 0 batch size and "
            f"non-zero dimensions for input, but got: {[*shape]}"
        )
    if shape[-2] % math.prod(windows.kernel):
        raise RuntimeError(
            "Expected size of input's dimension 1 to be divisible by the product of kernel_size, "
            f"but got input.size(1)={shape[-2]} and kernel_size={_shown(windows.kernel)}."
        )
    height, width = windows.output
    settings = (
        f"Given output_size={_shown(windows.size)}, kernel_size={_shown(windows.kernel)}, "
        f"dilation={_shown(windows.dilation)}, padding={_shown(windows.padding)}, "
        f"stride={_shown(windows.stride)}, "
    )
    if height * width != shape[-1]:
        raise RuntimeError(
            f"{settings}expected size of input's dimension 2 to match the calculated number of "
            f"sliding blocks {height} * {width} = {height * width}, but got "
            f"input.size(2)={shape[-1]}."
        )
    if height < 1 or width < 1:
        raise RuntimeError(
            f"{settings}calculated shape of the array of sliding blocks as ({height}, {width}), "
            "which is too small (non-positive)"
        )


im2col.gradient(
    self=lambda F, grad, self_shape, kernel_size, dilation, padding, stride: F.col2im(
        grad, self_shape[-2:], kernel_size, dilation, padding, stride
    )
).forward("linear")
col2im.gradient(self="F.im2col(grad, kernel_size, dilation, padding, stride)").forward("linear")


def _checked(**settings):
    """The settings, of two numbers each. Raises RuntimeError for another number of them."""
    for name, value in settings.items():
        if len(value) != 2:
            raise RuntimeError(f"It is expected {name} equals to 2, but got size {len(value)}")
    return settings.values()


@native("im2col")
def _im2col(input, kernel_size, dilation, padding, stride) -> Tensor:
    """The sliding blocks of (N, C, H, W) or (C, H, W), as columns of (N, C * kernel, blocks)."""
    if STATE.enabled and requires_grad(input):  # the node saves these sizes
        existing_dim(-1, input._raw.ndim)
        existing_dim(-2, input._raw.ndim)
    settings = _checked(kernel_size=kernel_size, dilation=dilation, padding=padding, stride=stride)
    return im2col(input, *settings)


@native("col2im")
def _col2im(input, output_size, kernel_size, dilation, padding, stride) -> Tensor:
    """The image of size `output_size` from the columns of (N, C * kernel, blocks), which are added
    at their places."""
    settings = _checked(
        output_size=output_size,
        kernel_size=kernel_size,
        dilation=dilation,
        padding=padding,
        stride=stride,
    )
    return col2im(input, *settings)
