"""Maxima over windows that are as many as asked for, whatever the input's size."""

from __future__ import annotations

import numpy as np

from impl.core.dtypes import BY_NUMPY, FLOATING
from impl.core.memory_formats import formatted_as
from impl.core.registry import tensor_ops
from impl.core.sizes import negative_size
from impl.dispatch.definition import Array, function, native
from impl.dispatch.not_implemented import not_implemented, require_gradient_dtype
from impl.kernels.reduced_precision import widened
from impl.operators.images.adaptive_pooling import (
    check_for_one,
    repeated,
    single_size,
    windows,
)
from impl.operators.images.pooling import define_maxima, scatter_plane
from impl.operators.images.pooling_windows import check_gradient, check_not_empty


def _foremost(array, axis: int):
    """Where the first maximum is, or the last NaN where there is one."""
    place = np.argmax(array, axis, keepdims=True)
    unknown = np.isnan(array)
    if not unknown.any():
        return place
    last = array.shape[axis] - 1 - np.argmax(np.flip(unknown, axis), axis, keepdims=True)
    return np.where(unknown.any(axis, keepdims=True), last, place)


def _maxima(raw, size):
    """Maxima, and their flat positions, found in one dimension after the other.

    The last dimension comes first, so that of equal elements the first in scan order is taken.
    """
    values = widened(raw)
    spatial = raw.shape[raw.ndim - len(size) :]
    places = np.broadcast_to(np.arange(np.prod(spatial)).reshape(spatial), raw.shape)
    for axis in range(raw.ndim - 1, raw.ndim - len(size) - 1, -1):
        best, where = [], []
        for window in windows(values.shape[axis], size[axis - raw.ndim]):
            key = (*(slice(None),) * axis, window)
            at = _foremost(values[key], axis)
            best.append(np.take_along_axis(values[key], at, axis))
            where.append(np.take_along_axis(places[key], at, axis))
        none = (*(slice(None),) * axis, slice(0))
        values = np.concatenate((values[none], *best), axis)
        places = np.concatenate((places[none], *where), axis)
    return values.astype(raw.dtype, copy=False), places


def _define(ndim: int):
    """The operator and its backward over the last two or three dimensions."""

    def forward(self: Array, output_size) -> Array:
        _check(self, output_size, ndim)
        values, places = _maxima(self, output_size)
        if ndim == 2:
            return formatted_as(values, self), formatted_as(places, self)
        return values, places

    def backward(grad_output: Array, self: Array, indices: Array) -> Array:
        check_gradient(grad_output.shape, f"adaptive_max_pool{ndim}d")
        name = "grad_output" if ndim == 2 else "gradOutput"
        require_gradient_dtype(name, grad_output, self.dtype)
        result = scatter_plane(grad_output, indices, self.shape, ndim)
        return formatted_as(result, self) if ndim == 2 else result

    forward.__name__ = f"adaptive_max_pool{ndim}d"
    policy = "fp32" if ndim == 3 else None
    node = f"AdaptiveMaxPool{ndim}D"
    define_maxima(forward, backward, node, ndim, batching="merged", autocast=policy)


def _check(raw, size, ndim: int) -> None:
    name = f"adaptive_max_pool{ndim}d"
    shape = raw.shape
    if len(shape) not in (ndim + 1, ndim + 2):
        raise RuntimeError(
            f"{name}(): Expected {ndim + 1}D or {ndim + 2}D tensor, but got: {[*shape]}"
        )
    check_not_empty(shape, 1, name)
    if len(size) != ndim:
        raise RuntimeError(f"{name}(): internal error: output_size.size() must be {ndim}")
    if min(size) < 0:
        raise negative_size([*shape[:-ndim], *size])
    kind = BY_NUMPY[raw.dtype]
    if kind.category != FLOATING:
        raise not_implemented(name if ndim == 2 else f"{name}_cpu", kind)


_define(2)
_define(3)


@function("adaptive_max_pool1d", method=False)
def adaptive_max_pool1d(input, output_size):
    """Maxima of windows over the last dimension of (N, C, L) or (C, L), and their positions
    (torch.adaptive_max_pool1d)."""
    shape = input._raw.shape
    check_for_one(shape, "adaptive_max_pool1d")
    size = single_size(output_size, "adaptive_max_pool1d")
    check_not_empty(shape, 1, "adaptive_max_pool1d")
    plane = tensor_ops.unsqueeze(input, -2)
    values, indices = tensor_ops.adaptive_max_pool2d(plane, (1, size))
    return tensor_ops.squeeze_dim(values, -2), tensor_ops.squeeze_dim(indices, -2)


@native("adaptive_max_pool2d")
def _adaptive_max_pool2d(input, output_size):
    """Maxima of windows over the last two dimensions, and their positions."""
    return tensor_ops.adaptive_max_pool2d(input, repeated(output_size, 2))


@native("adaptive_max_pool3d")
def _adaptive_max_pool3d(input, output_size):
    """Maxima of windows over the last three dimensions, and their positions."""
    return tensor_ops.adaptive_max_pool3d(input, repeated(output_size, 3))
