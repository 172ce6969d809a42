"""Grid sampling by sparse matrices.

A sample is a sum over the elements around its point, with weights that are products of functions of
one coordinate each. Sampling is therefore a sparse matrix, and its derivatives with respect to the
grid are matrices whose weights are differentiated in one or several dimensions.
"""

from __future__ import annotations

import math
from functools import cached_property
from typing import NamedTuple

import numpy as np
import scipy.sparse

from impl.core.dtypes import REDUCED
from impl.kernels.reduced_precision import widened
from impl.operators.images import cubic_weights_half as rough
from impl.operators.images.resampling import (
    cubic_curvatures,
    cubic_slopes,
    cubic_thirds,
    cubic_weights,
)

BILINEAR, NEAREST, BICUBIC = range(3)
ZEROS, BORDER, REFLECTION = range(3)


class Axis(NamedTuple):
    """The sampling along one dimension: the elements around each point (taps, points), whether they
    are inside the image, and their weights with the nonzero derivatives of these."""

    places: np.ndarray
    inside: np.ndarray
    weights: tuple[np.ndarray, ...]


def _reflected(x: np.ndarray, size: int, align_corners: bool):
    """Coordinates reflected at the sides until they lie inside, and the derivatives (signs) of that
    map."""
    low, span = (0.0, size - 1.0) if align_corners else (-0.5, float(size))
    if not span:
        return np.zeros_like(x), np.zeros_like(x)
    sign = np.where(x < low, -1, 1)
    distance = np.abs(x - x.dtype.type(low))
    rest, flips = np.fmod(distance, span), np.floor(distance / span)
    even = flips % 2 == 0
    mirrored = np.where(even, rest, span - rest) + low
    return mirrored.astype(x.dtype), np.where(even, sign, -sign)


def _padded(x: np.ndarray, size: int, padding: int, align_corners: bool):
    """Coordinates moved inside according to the padding mode, and the derivatives of that map."""
    if padding == ZEROS:
        return x, np.ones_like(x)
    slope = np.ones_like(x)
    if padding == REFLECTION:
        x, sign = _reflected(x, size, align_corners)
        slope = sign.astype(x.dtype)
    slope = np.where((x <= 0) | (x >= size - 1), 0, slope).astype(x.dtype)
    return np.clip(x, 0, size - 1), slope


def _axis(
    grid: np.ndarray, size: int, mode: int, padding: int, align_corners: bool, flat: bool
) -> Axis:
    """The sampling along a dimension of images, which are `flat` or volumes.

    A coordinate that is infinite or NaN gives NaN where weights are computed from it: by bicubic
    interpolation, and by bilinear interpolation of flat images with zeros around them. Padding
    moves a NaN to the first element of a flat image and to the last one of a volume.
    """
    number = grid.dtype.type
    # Half precision rounds the coordinate, and the weights' fraction, at each step.
    if align_corners:
        x, scale = (grid + number(1)) / number(2) * number(size - 1), (size - 1) / 2
    else:
        x, scale = ((grid + number(1)) * number(size) - number(1)) / number(2), size / 2
    x = widened(x)
    scale = x.dtype.type(scale)
    spreads = np.zeros(x.shape, bool)
    if mode == BICUBIC:
        spreads = ~np.isfinite(x)
        left = np.floor(x)
        share, halved = (x - left).astype(grid.dtype), grid.dtype in REDUCED
        at = (left + np.arange(-1, 3)[:, None]).astype(x.dtype)
        at, _ = _padded(at, size, padding, align_corners)
        weights: tuple[np.ndarray, ...] = (
            rough.weights(share) if halved else cubic_weights(share).T,
            (rough.slopes(share) if halved else cubic_slopes(share).T) * scale,
            cubic_curvatures(widened(share)).T * scale * scale,
            cubic_thirds(widened(share)).T * scale * scale * scale,
        )
    else:
        x, slope = _padded(x, size, padding, align_corners)
        if padding != ZEROS:
            x = np.where(np.isnan(x), x.dtype.type(0 if flat else size - 1), x)
        elif flat and mode != NEAREST:
            spreads = ~np.isfinite(x)
        slope = slope * scale
        if mode == NEAREST:
            at = np.rint(x)[None]
            weights = (np.ones_like(at),)
        else:
            left = np.floor(x)
            at = np.stack((left, left + 1))
            share = widened((x - left).astype(grid.dtype))
            weights = (np.stack((1 - share, share)), np.stack((-slope, slope)))
    inside = (at >= 0) & (at < size)
    if spreads.any():
        weights = tuple(np.where(spreads, x.dtype.type(np.nan), w) for w in weights)
    return Axis(np.where(inside, at, 0).astype(np.int64), inside | spreads, weights)


class Sampling:
    """The sparse matrices of a grid (n, ..., d) over images (n, channels, ...).

    They map the pixels of all images, as rows of channels, to the samples as rows of channels.
    """

    def __init__(self, shape, grid, mode: int, padding: int, align_corners: bool) -> None:
        self.size, self.ndim = shape[2:], len(shape) - 2
        self.points = math.prod(grid.shape[:-1])
        self.images = shape[0]
        if mode == BICUBIC and self.ndim == 3:
            grid = widened(grid)  # the one kernel that computes in float32 for half precision
        rows = grid.reshape(self.points, self.ndim)
        # The coordinates are given with the last dimension first.
        self.axes = [
            _axis(rows[:, self.ndim - 1 - i], n, mode, padding, align_corners, self.ndim == 2)
            for i, n in enumerate(self.size)
        ]

    def matrix(self, *derived: int) -> scipy.sparse.csr_array:
        """The matrix, differentiated by the coordinates with these indices."""
        orders = [derived.count(self.ndim - 1 - i) for i in range(self.ndim)]
        shape = (self.points, self.images * math.prod(self.size))
        if any(order >= len(axis.weights) for axis, order in zip(self.axes, orders, strict=True)):
            return scipy.sparse.csr_array(shape, dtype=self.axes[0].weights[0].dtype)
        weights = self.axes[0].weights[orders[0]]
        for axis, order in zip(self.axes[1:], orders[1:], strict=True):
            weights = _crossed(np.multiply, weights, axis.weights[order])
        kept, columns, starts = self._elements
        return scipy.sparse.csr_array((weights.T[kept], columns, starts), shape)

    @cached_property
    def _elements(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """For each point the taps that exist (points, taps), the columns of these, and the start of
        each point's entries."""
        per_image = max(self.points // max(self.images, 1), 1)
        places = (np.arange(self.points) // per_image)[None]
        inside = np.ones_like(places, bool)
        for axis, n in zip(self.axes, self.size, strict=True):
            places = _crossed(np.add, places * n, axis.places)
            inside = _crossed(np.logical_and, inside, axis.inside)
        kept = np.ascontiguousarray(inside.T)
        starts = np.concatenate(([0], np.cumsum(kept.sum(1))))
        return kept, places.T[kept], starts


def _crossed(combine: np.ufunc, left: np.ndarray, right: np.ndarray) -> np.ndarray:
    """The pairs of a dimension's taps with the next dimension's, combined for each point."""
    pairs = combine(left[:, None], right)
    return pairs.reshape(left.shape[0] * right.shape[0], left.shape[1])


def rows_of(images: np.ndarray) -> np.ndarray:
    """(n, channels, ...) as rows of channels."""
    rows = images.shape[0] * math.prod(images.shape[2:])
    return np.moveaxis(widened(images), 1, -1).reshape(rows, images.shape[1])


def images_of(rows: np.ndarray, shape, dtype) -> np.ndarray:
    """The rows of channels as (n, channels, ...)."""
    made = rows.reshape(shape[0], *shape[2:], shape[1])
    return np.ascontiguousarray(np.moveaxis(made, -1, 1)).astype(dtype, copy=False)
