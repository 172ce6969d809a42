"""Max pooling over windows at pseudo-random places (B. Graham, Fractional Max-Pooling, 2014)."""

from __future__ import annotations

import itertools
import math
from operator import index

import numpy as np

from impl.core import messages
from impl.core.dtypes import BY_NUMPY, FLOATING
from impl.core.registry import tensor_ops
from impl.core.sizes import negative_size
from impl.dispatch.definition import Array, native
from impl.dispatch.not_implemented import not_implemented, require_scalar_type
from impl.kernels.reduced_precision import widened
from impl.operators.images.pooling import define_maxima, scatter_plane
from impl.operators.images.pooling_windows import is_one_size

# The sides with their dimensions, in the order in which they are checked.
_SIDES = {2: (("height", -2), ("width", -1)), 3: (("time", -3), ("width", -1), ("height", -2))}
_ASSERTIONS = {
    2: ("index >= 0 && index < static_cast<int64_t>(inputW) * inputH", 244),
    3: ("index >= 0 && index < inputT * inputH * inputW", 284),
}


def _starts(samples: np.ndarray, size: int, count: int, kernel: int) -> np.ndarray:
    """Where the windows along a dimension begin: (N, C, count), from one sample for each plane."""
    samples = samples[..., None]
    number = samples.dtype.type
    step = number(size - kernel) / number(max(count - 1, 1))
    places = np.arange(count).astype(samples.dtype)
    starts = ((places + samples) * step).astype(np.int64) - (samples * step).astype(np.int64)
    starts[..., -1:] = size - kernel
    return starts


def _maxima(raw, kernel, size, samples):
    """Maxima (N, C, ...) and their flat positions; the last NaN counts as the largest."""
    ndim = len(size)
    spatial = raw.shape[2:]
    # The samples of two dimensions begin with the last one.
    order = range(ndim) if ndim == 3 else range(ndim - 1, -1, -1)
    starts = [
        _starts(samples[: raw.shape[0], :, which], *numbers)
        for which, *numbers in zip(order, spatial, size, kernel, strict=True)
    ]
    planes = widened(raw).reshape(*raw.shape[:2], math.prod(spatial))
    best = np.full((*raw.shape[:2], *size), -np.inf, planes.dtype)
    where = None
    for offsets in itertools.product(*map(range, kernel)):
        place = np.zeros((1,) * (ndim + 2), np.int64)
        for axis, (start, offset) in enumerate(zip(starts, offsets, strict=True)):
            shape = (*start.shape[:2], *(size[a] if a == axis else 1 for a in range(ndim)))
            place = place * spatial[axis] + (start + offset).reshape(shape)
        flat = place.reshape(*place.shape[:2], math.prod(size))
        values = np.take_along_axis(planes, flat, 2)
        values = values.reshape(best.shape)
        where = place.copy() if where is None else where
        better = (values > best) | np.isnan(values)
        np.copyto(best, values, where=better)
        np.copyto(where, place, where=better)
    if where is None:
        where = np.zeros(best.shape, np.int64)
    return best.astype(raw.dtype), where


def _check(raw, kernel, size, samples, ndim: int) -> None:
    if min(kernel) <= 0:
        raise RuntimeError(
            f"fractional_max_pool{ndim}d(): kernel size should be greater than zero, but got "
            + "x".join(map(str, kernel))
        )
    name = f"fractional_max_pool{ndim}d" + ("" if ndim == 2 else "_out")
    if raw.ndim not in (ndim + 1, ndim + 2):
        raise RuntimeError(
            f"{name}(): Expected {ndim + 1}D or {ndim + 2}D tensor, but got: {[*raw.shape]}"
        )
    for dim in range(1, raw.ndim):  # as ATen has it, which takes channels for a batch
        if not raw.shape[dim]:
            raise RuntimeError(
                f"{name}(): Expected input to have non-zero size for non-batch dimensions, but got"
                f"{[*raw.shape]} with dimension {dim} being empty."
            )
    rest = ndim - 2  # elements of the input that ATen keeps, in three dimensions
    for side, dim in _SIDES[ndim]:
        n, k = raw.shape[dim], kernel[dim]
        if k + size[dim] - 1 + rest > n:
            raise RuntimeError(f"{name}(): pool {side} {k} too large relative to input {side} {n}")
    if min(size) < 0:
        raise negative_size([*raw.shape[:-ndim], *size])
    if samples.dtype != raw.dtype:
        raise RuntimeError("Expect _random_samples to have the same dtype as input")
    if samples.ndim != 3:
        raise RuntimeError(f"Expect _random_samples to have 3 dimensions, got {samples.ndim}")
    batch = 1 if raw.ndim == ndim + 1 else raw.shape[0]
    if samples.shape[0] < batch:
        raise RuntimeError("Expect _random_samples.size(0) no less then input batch size.")
    if samples.shape[1] != raw.shape[-ndim - 1]:
        raise RuntimeError("Expect _random_samples.size(1) equals to input channel size.")
    if samples.shape[2] != ndim:
        raise RuntimeError(
            f"Expect _random_samples.size(2) equals to {ndim}; got {samples.shape[2]}."
        )
    kind = BY_NUMPY[raw.dtype]
    if kind.category != FLOATING:
        raise not_implemented(f"fractional_max_pool{ndim}d_out_frame", kind)


def _define(ndim: int) -> None:
    """The operator and its backward over the last two or three dimensions."""

    def forward(self: Array, kernel_size, output_size, random_samples: Array) -> Array:
        _check(self, kernel_size, output_size, random_samples, ndim)
        if self.ndim == ndim + 2:
            return _maxima(self, kernel_size, output_size, random_samples)
        values, places = _maxima(self[None], kernel_size, output_size, random_samples)
        return values[0], places[0]

    def backward(
        grad_output: Array, self: Array, kernel_size, output_size, indices: Array
    ) -> Array:
        if ndim == 3:
            require_scalar_type(indices, np.dtype(np.int64))
        require_scalar_type(grad_output, self.dtype)
        if ((indices < 0) | (indices >= math.prod(self.shape[-ndim:]))).any():
            assertion, line = _ASSERTIONS[ndim]
            file = f"aten/src/ATen/native/FractionalMaxPool{ndim}d.cpp"
            raise RuntimeError(messages.internal_assert(assertion, file, line))
        return scatter_plane(grad_output, indices, self.shape, ndim)

    forward.__name__ = f"fractional_max_pool{ndim}d"
    settings = "kernel_size, output_size"
    facts = {"autocast": "fp32", "batching": "fallback"}
    define_maxima(forward, backward, f"FractionalMaxPool{ndim}D", ndim, settings, False, **facts)


_define(2)
_define(3)


def _several(value, ndim: int, name: str) -> tuple[int, ...]:
    if is_one_size(value):
        return (index(value),) * ndim
    if len(value) != ndim:
        words = "Ints" if ndim == 2 else "three Ints"
        raise RuntimeError(
            f"fractional_max_pool{ndim}d: {name} must either be a single Int or tuple of {words}"
        )
    return tuple(value)


def _fractional_max_pool(ndim: int, input, kernel_size, output_size, random_samples):
    kernel = _several(kernel_size, ndim, "kernel_size")
    size = _several(output_size, ndim, "output_size")
    apply = getattr(tensor_ops, f"fractional_max_pool{ndim}d")
    return apply(input, kernel, size, random_samples)


@native()
def fractional_max_pool2d(input, kernel_size, output_size, random_samples):
    """Maxima of windows over the last two dimensions, and their positions; `random_samples` say
    where the windows lie."""
    return _fractional_max_pool(2, input, kernel_size, output_size, random_samples)


@native()
def fractional_max_pool3d(input, kernel_size, output_size, random_samples):
    """As `fractional_max_pool2d`, over the last three dimensions."""
    return _fractional_max_pool(3, input, kernel_size, output_size, random_samples)
