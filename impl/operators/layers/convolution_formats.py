"""The memory formats of convolutions: which results and gradients have the channels last."""

from __future__ import annotations

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
from impl.operators.layers.convolution_backends import ONEDNN, Setting


def result_format(input, weight, setting: Setting) -> memory_format:
    """The memory format of a convolution's result and of its gradients: with the channels last if
    the input or the weight is so (ATen's determine_backend_memory_format).

    One dimension is convolved as two, over an input made row-major. Over three dimensions only
    oneDNN's kernel heeds the format.
    """
    last = channels_last if weight.ndim < 5 else channels_last_3d
    if weight.ndim == 5 and setting.backend(input.dtype) is not ONEDNN:
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
