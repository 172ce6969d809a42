"""Pixel shuffle, its inverse, and channel shuffle."""

from __future__ import annotations

import numpy as np

from impl.core.memory_formats import formatted_as
from impl.core.registry import tensor_ops
from impl.dispatch.definition import Array, function, operator, owned
from impl.dispatch.not_implemented import no_derivative
from impl.tensor.tensor import Tensor


def _check(raw, factor: int, name: str, setting: str) -> None:
    if raw.ndim < 3:
        raise RuntimeError(
            f"{name} expects input to have at least 3 dimensions, but got input with {raw.ndim} "
            "dimension(s)"
        )
    if factor <= 0:
        raise RuntimeError(f"{name} expects a positive {setting}, but got {factor}")


@operator(writes=1, method=False, fresh=True, batching="merged")
def pixel_shuffle(self: Array, upscale_factor) -> Array:
    """Channels rearranged to r x r blocks of pixels: (..., C r^2, H, W) to (..., C, H r, W r).

    Raises RuntimeError for channels not divisible by r^2 (torch.nn.functional.pixel_shuffle).
    """
    r = upscale_factor
    _check(self, r, "pixel_shuffle", "upscale_factor")
    *lead, channels, height, width = self.shape
    if channels % r**2:
        raise RuntimeError(
            "pixel_shuffle expects its input's 'channel' dimension to be divisible by the square "
            f"of upscale_factor, but input.size(-3)={channels} is not divisible by {r**2}"
        )
    parts = self.reshape(*lead, channels // r**2, r, r, height, width)
    n = len(lead)
    moved = parts.transpose(*range(n + 1), n + 3, n + 1, n + 4, n + 2)
    shuffled = moved.reshape(*lead, channels // r**2, height * r, width * r)
    return owned(formatted_as(shuffled, self))


def _copies(args) -> int | None:
    """Nothing is copied as it is."""
    return None if args[0]._raw.size else 0


@operator(writes=1, copies=_copies, method=False, fresh=True, batching="merged")
def pixel_unshuffle(self: Array, downscale_factor) -> Array:
    """Blocks of r x r pixels rearranged to channels: (..., C, H r, W r) to (..., C r^2, H, W).

    Raises RuntimeError for sizes not divisible by r (torch.nn.functional.pixel_unshuffle).
    """
    r = downscale_factor
    _check(self, r, "pixel_unshuffle", "downscale_factor")
    *lead, channels, height, width = self.shape
    for word, dim, size in (("height", -2, height), ("width", -1, width)):
        if size % r:
            raise RuntimeError(
                f"pixel_unshuffle expects {word} to be divisible by downscale_factor, but "
                f"input.size({dim})={size} is not divisible by {r}"
            )
    if not self.size:
        return np.array(self)  # in its own shape, whatever the factor
    parts = self.reshape(*lead, channels, height // r, r, width // r, r)
    n = len(lead)
    moved = parts.transpose(*range(n + 1), n + 2, n + 4, n + 1, n + 3)
    shuffled = moved.reshape(*lead, channels * r**2, height // r, width // r)
    return owned(formatted_as(shuffled, self))


pixel_shuffle.gradient(self="F.pixel_unshuffle(grad, upscale_factor)").forward("linear")
pixel_unshuffle.gradient(self="F.pixel_shuffle(grad, downscale_factor)").forward("linear")


def _promotes(raw, groups: int):
    if raw.ndim <= 2:
        raise RuntimeError(
            f"channel_shuffle expects input with > 2 dims, but got input with sizes {[*raw.shape]}"
        )
    if groups <= 0:
        raise RuntimeError(
            "Number of groups to divide channels in must be positive. Value of groups:"
            + str(groups)
        )
    channels = raw.shape[1]
    if channels % groups:
        raise RuntimeError(
            f"Number of channels must be divisible by groups. Got {channels} channels and {groups} "
            "groups."
        )
    order = np.arange(channels).reshape(groups, -1).T.reshape(-1)
    return formatted_as(raw[:, order], raw)


def _aliasing(result: Tensor, input: Tensor) -> Tensor:
    """The result; that for no elements in the memory of the input, as an alias that counts its
    own versions."""
    if not input._raw.size:
        result._storage = input._storage.sharing()
        result._strides, result._offset = input._strides, input._offset
    return result


@operator(writes=1, function=False, method=False, fresh=True, batching="merged")
def channel_shuffle(self: Array, groups) -> Array:
    return _promotes(self, groups)


def _channel_shuffle_gradient(F, grad, groups):
    result = F.channel_shuffle(grad, grad.shape[1] // groups)
    return _aliasing(result, grad) if isinstance(grad, Tensor) else result


channel_shuffle.gradient(self=_channel_shuffle_gradient).forward("linear")


@function("channel_shuffle", method=False)
def _channel_shuffle(input, groups):
    """Channels (N, C, ...) of `groups` groups interleaved (torch.nn.functional.channel_shuffle).

    Raises RuntimeError for channels not divisible by `groups`, and below three dimensions.
    """
    return _aliasing(channel_shuffle(input, groups), input)


@operator(writes=1, function=False, method=False, fresh=True, node="NotImplemented")
def undifferentiated_channel_shuffle(self: Array, groups) -> Array:
    return _promotes(self, groups)


undifferentiated_channel_shuffle.gradient(self=no_derivative("native_channel_shuffle"))


@function("native_channel_shuffle", method=False)
def native_channel_shuffle(input, groups):
    """`channel_shuffle` without a derivative (torch.native_channel_shuffle)."""
    return _aliasing(tensor_ops.undifferentiated_channel_shuffle(input, groups), input)
