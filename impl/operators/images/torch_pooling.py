"""Pooling functions of the torch namespace: values alone, or values and indices."""

from __future__ import annotations

from impl.dispatch.definition import function
from impl.operators.images import adaptive_pooling, average_pooling, pooling


@function(method=False)
def avg_pool1d(input, kernel_size, stride=(), padding=0, ceil_mode=False, count_include_pad=True):
    """The means of windows over the last dimension of (N, C, L) or (C, L) (torch.avg_pool1d)."""
    return average_pooling.avg_pool1d(
        input, kernel_size, _given(stride), padding, ceil_mode, count_include_pad
    )


@function(method=False)
def adaptive_avg_pool1d(input, output_size):
    """The means of `output_size` windows (torch.adaptive_avg_pool1d)."""
    return adaptive_pooling.adaptive_avg_pool1d(input, output_size)


@function(method=False)
def max_pool1d(input, kernel_size, stride=(), padding=0, dilation=1, ceil_mode=False):
    """The maxima of windows over the last dimension (torch.max_pool1d)."""
    return pooling.max_pool1d(input, kernel_size, _given(stride), padding, dilation, ceil_mode)


@function(method=False)
def max_pool1d_with_indices(input, kernel_size, stride=(), padding=0, dilation=1, ceil_mode=False):
    """The maxima and their positions in the rows (torch.max_pool1d_with_indices)."""
    return pooling.max_pool1d_with_indices(
        input, kernel_size, _given(stride), padding, dilation, ceil_mode
    )


@function(method=False)
def max_pool2d(input, kernel_size, stride=(), padding=0, dilation=1, ceil_mode=False):
    """The maxima of windows over the last two dimensions (torch.max_pool2d)."""
    return pooling.max_pool2d(input, kernel_size, _given(stride), padding, dilation, ceil_mode)


@function(method=False)
def max_pool3d(input, kernel_size, stride=(), padding=0, dilation=1, ceil_mode=False):
    """The maxima of windows over the last three dimensions (torch.max_pool3d)."""
    return pooling.max_pool3d(input, kernel_size, _given(stride), padding, dilation, ceil_mode)


def _given(stride):
    """The stride as `functional` takes it: None, the kernel's size, for an empty tuple."""
    return None if stride == () or stride == [] else stride
