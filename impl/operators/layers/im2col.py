"""Convolution on arrays by im2col: windows as columns of a matrix, one product per example.

A *correlation* slides a kernel over (examples, channels, *size). The windows of each example are
copied to a matrix of (channels * kernel) rows and one column per window, which stays in the cache
for the product with the kernels. The adjoint (col2im) adds the columns of such a matrix to the
positions of their windows; it is the gradient of the input, and the forward pass of a transposed
convolution.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import as_strided

# Bytes per block of windows: less than the processor's second-level cache.
_BLOCK = 160 * 1024


class Geometry:
    """The geometry of windows; each tuple has one number per spatial dimension.

    The number of windows is the largest that fits, or `output`, which may be smaller.
    """

    def __init__(self, size, kernel, stride, padding, dilation, groups: int, output=None) -> None:
        self.size, self.kernel, self.stride = tuple(size), tuple(kernel), tuple(stride)
        self.padding, self.dilation, self.groups = tuple(padding), tuple(dilation), groups
        self.padded = tuple(n + 2 * p for n, p in zip(self.size, self.padding, strict=True))
        self.output = tuple(
            (n - d * (k - 1) - 1) // s + 1
            for n, k, s, d in zip(self.padded, self.kernel, self.stride, self.dilation, strict=True)
        )
        self.complete = output is None or self.output == tuple(output)
        if output is not None:
            self.output = tuple(output)
        # Windows of one element without padding: the matrix of windows is the array itself.
        self.plain = (
            self.complete
            and self.padded == self.size
            and all(k == 1 and s == 1 for k, s in zip(self.kernel, self.stride, strict=True))
        )

    @property
    def inside(self) -> tuple[slice, ...]:
        """The slices of the input within the padded input."""
        return tuple(slice(p, p + n) for n, p in zip(self.size, self.padding, strict=True))

    def windows(self, array: np.ndarray) -> np.ndarray:
        """A view (channels, *kernel, *output) of one padded example (channels, *padded)."""
        steps = array.strides[1:]
        return as_strided(
            array,
            (array.shape[0], *self.kernel, *self.output),
            (
                array.strides[0],
                *(s * d for s, d in zip(steps, self.dilation, strict=True)),
                *(s * n for s, n in zip(steps, self.stride, strict=True)),
            ),
        )

    def blocks(self, array: np.ndarray) -> Iterator[tuple[int, slice, np.ndarray]]:
        """Blocks of windows: the number of the example, the slice of its windows, and the windows
        as (groups, channels of a group * kernel, windows), in a buffer that the next block
        reuses."""
        channels = array.shape[1]
        rows = channels // self.groups * math.prod(self.kernel)
        if self.plain:
            for number, example in enumerate(array):
                yield number, slice(None), example.reshape(self.groups, rows, -1)
            return
        padded = np.zeros((channels, *self.padded), array.dtype)
        middle, windows = padded[(slice(None), *self.inside)], self.windows(padded)
        inner = math.prod(self.output[1:])
        line = self.groups * rows * inner * array.itemsize
        count = min(max(1, _BLOCK // max(line, 1)), self.output[0])
        parts = []
        for start in range(0, self.output[0], count):
            stop = min(start + count, self.output[0])
            here = (slice(None),) * (1 + len(self.kernel)) + (slice(start, stop),)
            parts.append((slice(start * inner, stop * inner), windows[here]))
        memory = np.empty(self.groups * rows * count * inner, array.dtype)
        for number, example in enumerate(array):
            middle[...] = example
            for span, source in parts:
                target = memory[: source.size]
                target.reshape(source.shape)[...] = source
                yield number, span, target.reshape(self.groups, rows, -1)

    def offsets(self) -> Iterator[tuple[Any, Any]]:
        """Each offset in the kernel, with the slices of the padded input that it is multiplied
        with."""
        for place in itertools.product(*map(range, self.kernel)):
            yield (
                place,
                tuple(
                    slice(k * d, k * d + s * (n - 1) + 1, s)
                    for k, d, s, n in zip(
                        place, self.dilation, self.stride, self.output, strict=True
                    )
                ),
            )


def correlation(array: np.ndarray, kernels: np.ndarray, geometry: Geometry) -> np.ndarray:
    """(N, C, *size) with kernels (K, C / groups, *kernel) gives (N, K, *output)."""
    result = np.zeros((len(array), len(kernels), *geometry.output), array.dtype)
    if not (result.size and array.size):
        return result
    matrix = _matrix(kernels, geometry)
    rows = result.reshape(len(array), geometry.groups, len(kernels) // geometry.groups, -1)
    for number, span, columns in geometry.blocks(array):
        np.matmul(matrix, columns, out=rows[number, :, :, span])
    return result


def adjoint(array: np.ndarray, kernels: np.ndarray, geometry: Geometry) -> np.ndarray:
    """(N, K, *output) with kernels (K, C / groups, *kernel) gives (N, C, *size)."""
    channels = kernels.shape[1] * geometry.groups
    if not (array.size and channels):
        return np.zeros((len(array), channels, *geometry.size), array.dtype)
    mirrored = _mirrored(geometry)
    if mirrored is not None and len(kernels) <= 2 * channels:
        turned = _turned(kernels, geometry)
        return correlation(array, turned.reshape(channels, -1, *geometry.kernel), mirrored)
    turned = np.ascontiguousarray(_matrix(kernels, geometry).transpose(0, 2, 1))
    rows = array.reshape(len(array), geometry.groups, array.shape[1] // geometry.groups, -1)
    result = np.empty((len(array), channels, *geometry.size), array.dtype)
    if geometry.plain:
        np.matmul(turned, rows, out=result.reshape(*rows.shape[:2], -1, rows.shape[-1]))
        return result
    padded = np.empty((channels, *geometry.padded), array.dtype)
    columns = np.empty((*turned.shape[:2], rows.shape[-1]), array.dtype)
    parts = columns.reshape(channels, *geometry.kernel, *geometry.output)
    inside = padded[(slice(None), *geometry.inside)]
    pairs = [
        (padded[(slice(None), *where)], parts[(slice(None), *place)])
        for place, where in geometry.offsets()
    ]
    for row, target in zip(rows, result, strict=True):
        np.matmul(turned, row, out=columns)
        padded[...] = 0
        for where, part in pairs:
            where += part
        target[...] = inside
    return result


def kernel_gradient(
    array: np.ndarray, gradient: np.ndarray, kernels_shape, geometry: Geometry
) -> np.ndarray:
    """(N, C, *size) and (N, K, *output) give the kernels' gradient (K, C / groups, *kernel)."""
    groups = geometry.groups
    count = kernels_shape[0]
    result = np.zeros(kernels_shape, array.dtype)
    if array.size and gradient.size:
        rows = gradient.reshape(len(gradient), groups, count // groups, -1).swapaxes(2, 3)
        total = sum(
            np.matmul(columns, rows[number, :, span])
            for number, span, columns in geometry.blocks(array)
        )
        result.reshape(groups, count // groups, -1)[...] = total.swapaxes(1, 2)
    return result


def gradients(
    array: np.ndarray, gradient: np.ndarray, kernels: np.ndarray, geometry: Geometry
) -> tuple[np.ndarray, np.ndarray]:
    """`adjoint` and `kernel_gradient` together, where possible from one copy of the windows."""
    mirrored = _mirrored(geometry)
    if mirrored is None or len(kernels) > 2 * array.shape[1] or not (gradient.size and array.size):
        return (
            adjoint(gradient, kernels, geometry),
            kernel_gradient(array, gradient, kernels.shape, geometry),
        )
    groups, (count, channels, *size) = geometry.groups, kernels.shape
    turned = _turned(kernels, geometry).reshape(groups, channels, -1)
    total = np.zeros((groups, turned.shape[2], channels), array.dtype)
    result = np.empty_like(array, order="C")
    shape = (len(array), groups, channels, -1)
    examples, targets = array.reshape(shape).swapaxes(2, 3), result.reshape(shape)
    for number, span, columns in mirrored.blocks(gradient):
        np.matmul(turned, columns, out=targets[number, :, :, span])
        total += np.matmul(columns, examples[number, :, span])
    turned_back = total.reshape(groups, count // groups, *size, channels)
    turned_back = np.moveaxis(turned_back, -1, 2)
    weights = np.empty(kernels.shape, array.dtype)
    grouped = weights.reshape(groups, count // groups, channels, *size)
    grouped[...] = np.flip(turned_back, _last(geometry))
    return result, weights


def _mirrored(geometry: Geometry) -> Geometry | None:
    """The geometry over the output in which the adjoint is a correlation of stride 1; None if there
    is none."""
    padding = [
        d * (k - 1) - p
        for k, p, d in zip(geometry.kernel, geometry.padding, geometry.dilation, strict=True)
    ]
    strides = any(s != 1 for s in geometry.stride)
    if any(p < 0 for p in padding) or strides or not geometry.complete:
        return None
    return Geometry(
        geometry.output,
        geometry.kernel,
        geometry.stride,
        padding,
        geometry.dilation,
        geometry.groups,
    )


def _turned(kernels: np.ndarray, geometry: Geometry) -> np.ndarray:
    """Kernels as (groups, C / groups, K / groups, *kernel), flipped in their last dimensions."""
    count, channels, *size = kernels.shape
    grouped = kernels.reshape(geometry.groups, count // geometry.groups, channels, *size)
    return np.ascontiguousarray(np.flip(grouped.swapaxes(1, 2), _last(geometry)))


def _last(geometry: Geometry) -> tuple[int, ...]:
    return tuple(range(-len(geometry.kernel), 0))


def _matrix(kernels: np.ndarray, geometry: Geometry) -> np.ndarray:
    groups = geometry.groups
    return kernels.reshape(groups, len(kernels) // groups, -1)
