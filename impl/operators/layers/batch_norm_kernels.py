"""Sums, affine map and gradients of a batch normalisation, by the layout of its input.

Where the rounding shows (equal elements far from zero have no spread but that), it is the one of
ATen's batch_norm_kernel.cpp: each channel of a row-major input is summed with more precision, one
with its channels last row by row.
"""

from __future__ import annotations

import math

import numpy as np

from impl.core.dtypes import bfloat16
from impl.core.memory_formats import channels_last, channels_last_3d, suggested
from impl.core.strides import element_strides, is_contiguous
from impl.kernels.fused_multiply_add import product_plus
from impl.kernels.reduced_precision import widened
from impl.kernels.vectorized import ones

_CHANNELS_LAST = (channels_last, channels_last_3d)


def channels(raw, ndim: int):
    """A vector of one number per channel, reshaped to broadcast against the input."""
    return raw.reshape(1, -1, *(1,) * (ndim - 2))


def reduced_dims(ndim: int) -> tuple[int, ...]:
    """The dimensions that a batch normalisation takes its statistics over."""
    return (0, *range(2, ndim))


def _is_row_major(array: np.ndarray) -> bool:
    return is_contiguous(array.shape, element_strides(array))


def _has_channels_last(array: np.ndarray) -> bool:
    strides = element_strides(array)
    return any(f.describes(array.shape, strides) for f in _CHANNELS_LAST)


def _is_whole(array: np.ndarray) -> bool:
    """Whether the kernels for one piece of memory take the array (ATen's is_contiguous)."""
    return _is_row_major(array) or _has_channels_last(array)


def _channel_sums(values: np.ndarray, layout: np.ndarray) -> np.ndarray:
    """The sums of each channel, in the order and precision for an input of that layout."""
    wide = np.float64 if layout.dtype == np.float32 else values.dtype
    inner = math.prod(layout.shape[2:])
    in_rows = _is_whole(layout) and (inner == 1 or not _is_row_major(layout))
    if not in_rows and values.flags.c_contiguous and wide != values.dtype:
        # NumPy's sum with another dtype takes twice as long as the cast and a product with ones.
        sums = values.reshape(-1, inner).astype(wide).dot(ones((inner,), np.dtype(wide)))
        return sums.reshape(values.shape[:2]).sum(0)
    if not in_rows:
        return values.sum(reduced_dims(values.ndim), dtype=wide)
    rows = np.moveaxis(values, 1, -1).reshape(-1, values.shape[1])
    if rows.shape[1] == 1:  # NumPy would add pairs of a single column
        return np.add.accumulate(rows, 0)[-1]
    return np.add.reduce(rows, 0)


def batch_statistics(input: np.ndarray, eps) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The mean of each channel, its sum of squared deviations and its inverse deviation; for memory
    that is not one piece floats are summed, and the sum is left, in double precision."""
    x = widened(input)
    count = x.size // x.shape[1]
    if _is_whole(input):
        mean = (_channel_sums(x, input) / count).astype(x.dtype)
    else:
        mean = x.mean(reduced_dims(x.ndim), dtype=x.dtype)
        x = x.astype(np.float64) if input.dtype == np.float32 else x
    number = x.dtype.type
    deviation = x - channels(mean, x.ndim)
    total = _channel_sums(np.square(deviation, out=deviation), input).astype(x.dtype)
    wide = np.float64 if input.dtype == np.float32 else x.dtype
    if input.dtype == bfloat16.numpy:  # it is rounded here too; half precision is not
        total = total.astype(input.dtype).astype(x.dtype)
    spread = (total / number(count)).astype(wide) + np.dtype(wide).type(eps)
    if input.dtype == bfloat16.numpy:
        spread = spread.astype(input.dtype).astype(x.dtype)
    invstd = (1 / np.sqrt(spread)).astype(mean.dtype)
    if not eps:
        invstd[total == 0] = 0
    return mean, total, invstd


def normalized(input: np.ndarray, mean, invstd, weight, bias) -> np.ndarray:
    """(input - mean) * invstd * weight + bias; a product and a sum if the memory is one piece."""
    x = widened(input)
    if not _is_whole(input):
        value = (x - channels(mean, x.ndim)) * channels(invstd, x.ndim)
        if weight is not None:
            value *= channels(widened(weight), x.ndim)
        # A missing bias is a zero, so the result is never minus zero.
        value += 0 if bias is None else channels(widened(bias), x.ndim)
        return value
    scale = invstd if weight is None else invstd * widened(weight)
    shift = product_plus(-mean, scale, 0 if bias is None else widened(bias))
    return product_plus(x, channels(scale, x.ndim), channels(shift, x.ndim))


def as_read(grad_out: np.ndarray, input: np.ndarray) -> np.ndarray:
    """The gradient as the kernels read it: with the input's strides, whatever its own are, if the
    sizes of both suggest the same memory format and each is one piece of memory."""
    given = element_strides(grad_out)
    formats = (suggested(a.shape, element_strides(a)) for a in (grad_out, input))
    if not (_is_whole(input) and _is_whole(grad_out)) or len(set(formats)) > 1:
        return grad_out
    in_memory = grad_out.transpose(sorted(range(grad_out.ndim), key=lambda d: (-given[d], d)))
    if _is_row_major(input):
        return in_memory.reshape(grad_out.shape)
    last = (grad_out.shape[0], *grad_out.shape[2:], grad_out.shape[1])
    return np.moveaxis(in_memory.reshape(last), -1, 1)


def batch_norm_gradients(grad_out, input, mean, invstd, weight, train) -> tuple:
    """The gradient of the input, and for each channel the sums of the gradient and of its product
    with the normalised input."""
    x, g = widened(input), widened(as_read(grad_out, input))
    number = x.dtype.type
    count = x.size // x.shape[1]
    centred = x - channels(mean, x.ndim)
    along = _channel_sums(g * centred, input).astype(x.dtype)
    total = _channel_sums(g, input).astype(x.dtype)
    scale = channels(invstd if weight is None else invstd * widened(weight), x.ndim)
    if train:
        value = g - channels(total / number(count), x.ndim)
        centred *= channels(along * np.square(invstd) / number(count), x.ndim)
        value -= centred
        value *= scale
    else:
        value = g * scale
    return value, total, along * invstd
