"""The memory formats of convolutions: which results and gradients have the channels last."""

from __future__ import annotations

import math

from impl.core.memory_formats import (
    channels_last,
    channels_last_3d,
    contiguous_format,
    formatted,
    memory_format,
    suggested,
    suggested_by,
)
from impl.core.strides import element_strides


def result_format(input, weight, steps, groups) -> memory_format:
    """The memory format of a convolution's result and of its gradients: with the channels last if
    the input or the weight is so (ATen's determine_backend_memory_format).

    One dimension is convolved as two, over an input made row-major. Over three dimensions only
    oneDNN's kernel heeds the format. `steps` are strides and dilations.
    """
    last = channels_last if weight.ndim < 5 else channels_last_3d
    if weight.ndim == 5 and not _by_onednn(input, weight, steps, groups):
        return contiguous_format
    if weight.ndim == 3:
        (*lead, width), (*outer, step) = weight.shape, element_strides(weight)
        return suggested((*lead, 1, width), (*outer, width * step, step))
    found = suggested_by(input), suggested_by(weight)
    return last if last in found else contiguous_format


def laid_out(result, format):
    """A result in a memory format, that of images also for one dimension."""
    if result.ndim == 3 and format is channels_last:
        return formatted(result[:, :, None], format)[:, :, 0]
    return formatted(result, format)


def _by_onednn(input, weight, steps, groups) -> bool:
    """Whether torch in one thread takes oneDNN's kernel (ATen's ConvParams::use_mkldnn)."""
    if input.dtype.itemsize != 4:
        return input.dtype.itemsize == 2
    batch, kernel = input.shape[0], weight.shape[-2:]
    many = groups > 1 or min(kernel) > 3 or batch > 1 or math.prod(input.shape[:4]) > 20480
    return many and (any(n != 1 for n in steps) or batch >= 16 or kernel != (1, 1))
