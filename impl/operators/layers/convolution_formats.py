"""The memory formats of convolutions: which results and gradients have the channels last."""

from __future__ import annotations

import math

import numpy as np

from impl.core import memory_formats
from impl.core.memory_formats import (
    channels_last,
    channels_last_3d,
    contiguous_format,
    formatted,
    memory_format,
    suggested,
    suggested_by,
)
from impl.core.strides import element_strides, is_dense
from impl.operators.layers.convolution_backends import ONEDNN, SLOW, Setting


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


def laid_out(result, format, setting: Setting):
    """A result in a memory format, that of images also for one dimension.

    The slow kernels join the results of groups: row-major, if each has one element per image.
    """
    if math.prod(result.shape[1:]) == setting.groups > 1 and setting.backend(result.dtype) is SLOW:
        return formatted(result, contiguous_format)
    if result.ndim == 3 and format is channels_last:
        return formatted(result[:, :, None], format)[:, :, 0]
    return formatted(result, format)


def laid_out_as_weight(gradient, weight, format, setting: Setting):
    """The gradient of a weight in a memory format. Where the weight is in that format already, but
    for the strides of its dimensions of size one, it is not copied into it, and its gradient has
    its strides; oneDNN and the kernel for dilation make a gradient in the format itself.
    """
    if weight.ndim == 3:
        return laid_out(gradient, format, setting)
    strides, own = format.strides(weight.shape), element_strides(weight)
    is_made = setting.is_dilated or setting.backend(weight.dtype) is ONEDNN
    if strides is None or is_made or not _agree(weight.shape, strides, own):
        return formatted(gradient, format)
    return memory_formats.laid_out(gradient, own)


def _agree(shape, strides, others) -> bool:
    """Whether strides are the same but for dimensions of size one."""
    return all(n == 1 or a == b for n, a, b in zip(shape, strides, others, strict=True))


def zeros_like(array: np.ndarray, kind: np.dtype) -> np.ndarray:
    """Zeros of a dtype with the strides of an array, if that is dense; row-major otherwise."""
    zeros, strides = np.zeros(array.shape, kind), element_strides(array)
    return memory_formats.laid_out(zeros, strides) if is_dense(array.shape, strides) else zeros
