"""Sampling at the points of a grid as sparse matrices.

A sample is a sum over the elements around its point, weighted in each dimension by a function of
the point's coordinate. So sampling is a sparse matrix, and its derivatives with respect to the
grid are matrices whose weights are derived in one dimension or in several.
"""

from __future__ import annotations

import itertools
import math
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse

from impl.operators.resampling import cubic_curvatures, cubic_slopes, cubic_thirds, cubic_weights
from impl.precision import widened

BILINEAR, NEAREST, BICUBIC = range(3)
ZEROS, BORDER, REFLECTION = range(3)


class Axis(NamedTuple):
    """One dimension: the elements around each point (points, taps), whether they exist, and their
    weights with the derivatives of these that do not vanish."""

    places: np.ndarray
    inside: np.ndarray
    weights: tuple[np.ndarray, ...]


def _reflected(x: np.ndarray, size: int, align_corners: bool):
    """Coordinates mirrored at the sides until they lie inside, and the signs of that map."""
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
    """Coordinates brought inside as the padding says, and the derivatives of that map."""
    if padding == ZEROS:
        return x, np.ones_like(x)
    slope = np.ones_like(x)
    if padding == REFLECTION:
        x, sign = _reflected(x, size, align_corners)
        slope = sign.astype(x.dtype)
    slope = np.where((x <= 0) | (x >= size - 1), 0, slope).astype(x.dtype)
    return np.clip(x, 0, size - 1), slope


def _axis(grid: np.ndarray, size: int, mode: int, padding: int, align_corners: bool) -> Axis:
    number = grid.dtype.type
    grid = np.where(np.isnan(grid), number(-1), grid)
    if align_corners:
        x, scale = (grid + 1) / 2 * (size - 1), number((size - 1) / 2)
    else:
        x, scale = ((grid + 1) * size - 1) / 2, number(size / 2)
    if mode == BICUBIC:
        left = np.floor(x)
        share = x - left
        at = (left[:, None] + np.arange(-1, 3)).astype(grid.dtype)
        at, _ = _padded(at, size, padding, align_corners)
        weights: tuple[np.ndarray, ...] = (
            cubic_weights(share),
            cubic_slopes(share) * scale,
            cubic_curvatures(share) * scale * scale,
            cubic_thirds(share) * scale * scale * scale,
        )
    else:
        x, slope = _padded(x, size, padding, align_corners)
        slope = (slope * scale)[:, None]
        if mode == NEAREST:
            at = np.rint(x)[:, None]
            weights = (np.ones_like(at),)
        else:
            left = np.floor(x)
            at = np.stack((left, left + 1), 1)
            share = (x - left)[:, None]
            weights = (
                np.concatenate((1 - share, share), 1),
                np.concatenate((-slope, slope), 1),
            )
    inside = (at >= 0) & (at < size)
    return Axis(np.where(inside, at, 0).astype(np.int64), inside, weights)


class Sampling:
    """The sparse matrices of a grid (n, ..., d) over images (n, channels, ...).

    They take rows of channels to rows of channels, of all images at once.
    """

    def __init__(self, shape, grid, mode: int, padding: int, align_corners: bool) -> None:
        grid = widened(grid)
        self.size, self.ndim = shape[2:], len(shape) - 2
        self.points = math.prod(grid.shape[:-1])
        self.images = shape[0]
        rows = grid.reshape(self.points, self.ndim)
        # The coordinates are given with the last dimension first.
        self.axes = [
            _axis(rows[:, self.ndim - 1 - i], n, mode, padding, align_corners)
            for i, n in enumerate(self.size)
        ]

    def matrix(self, *derived: int) -> scipy.sparse.csr_array:
        """The matrix, derived with respect to the coordinates of these numbers."""
        orders = [derived.count(self.ndim - 1 - i) for i in range(self.ndim)]
        shape = (self.points, self.images * math.prod(self.size))
        if any(order >= len(axis.weights) for axis, order in zip(self.axes, orders, strict=True)):
            return scipy.sparse.csr_array(shape, dtype=self.axes[0].weights[0].dtype)
        plane = math.prod(self.size)
        image = np.arange(self.points) // max(self.points // max(self.images, 1), 1)
        places, inside, weights = [], [], []
        for taps in itertools.product(*(range(axis.places.shape[1]) for axis in self.axes)):
            place: Any = 0
            exists: Any = True
            weight: Any = 1
            for axis, tap, n, order in zip(self.axes, taps, self.size, orders, strict=True):
                place = place * n + axis.places[:, tap]
                exists = exists & axis.inside[:, tap]
                weight = weight * axis.weights[order][:, tap]
            places.append(place + image * plane)
            inside.append(exists)
            weights.append(weight)
        kept = np.stack(inside, 1)
        starts = np.concatenate(([0], np.cumsum(kept.sum(1))))
        values, columns = np.stack(weights, 1)[kept], np.stack(places, 1)[kept]
        return scipy.sparse.csr_array((values, columns, starts), shape)


def rows_of(images: np.ndarray) -> np.ndarray:
    """(n, channels, ...) as rows of channels."""
    return np.moveaxis(widened(images), 1, -1).reshape(-1, images.shape[1])


def images_of(rows: np.ndarray, shape, dtype) -> np.ndarray:
    """The rows of channels as (n, channels, ...)."""
    made = rows.reshape(shape[0], *shape[2:], shape[1])
    return np.ascontiguousarray(np.moveaxis(made, -1, 1)).astype(dtype, copy=False)
