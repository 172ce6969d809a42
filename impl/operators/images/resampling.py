"""Resampling along one dimension by sparse matrices of weights.

A resampling is a sparse matrix (new size, old size), so its backward is the transpose, and elements
without a weight do not affect the result even if they are infinite. The positions are those of
ATen: half-pixel centres, or aligned corners (ATen/native/UpSample.h).
"""

from __future__ import annotations

import math

import numpy as np
import scipy.sparse


def ratio(size: int, count: int, scale: float | None) -> float:
    """The ratio of old to new size, or the inverse of a given scale."""
    return 1.0 / scale if scale is not None and scale > 0 else size / count


def _step(size: int, count: int, align_corners: bool, scale: float | None) -> float:
    if align_corners:
        return (size - 1) / (count - 1) if count > 1 else 0.0
    return ratio(size, count, scale)


def _positions(size: int, count: int, align_corners: bool, scale, kind):
    """The positions of the new elements in coordinates of the old ones."""
    number = np.arange(count).astype(kind)
    step = kind(_step(size, count, align_corners, scale))
    return number * step if align_corners else step * (number + kind(0.5)) - kind(0.5)


def _matrix(places, weights, size: int) -> scipy.sparse.csr_array:
    """The matrix of rows with equally many weights, at positions that may repeat."""
    count, taps = places.shape
    starts = np.arange(0, count * taps + 1, taps)
    return scipy.sparse.csr_array((weights.reshape(-1), places.reshape(-1), starts), (count, size))


def nearest_places(size: int, count: int, scale: float | None, kind) -> np.ndarray:
    """The old element at the beginning of each new one (mode "nearest")."""
    places = np.floor(np.arange(count).astype(kind) * kind(ratio(size, count, scale)))
    return np.minimum(places.astype(np.int64), size - 1)


def exact_places(size: int, count: int, scale: float | None, kind) -> np.ndarray:
    """The old element at the centre of each new one (mode "nearest-exact")."""
    centres = np.maximum(_positions(size, count, False, scale, kind), 0)
    return np.minimum(np.floor(centres + kind(0.5)).astype(np.int64), size - 1)


def nearest_places_at_once(size: int, count: int, scale: float | None) -> np.ndarray:
    """As `nearest_places`, for ATen's kernels that compute positions in single precision, and
    exactly where the size stays or doubles."""
    if count in (size, 2 * size):
        return np.arange(count) * size // count
    return nearest_places(size, count, scale, np.float32)


def exact_places_at_once(size: int, count: int, scale: float | None) -> np.ndarray:
    """As `exact_places`, for ATen's kernels that round the ratio of sizes to single precision."""
    step = float(np.float32(ratio(size, count, scale)))
    places = np.floor(((np.arange(count) + 0.5) * step).astype(np.float32))
    return np.minimum(places.astype(np.int64), size - 1)


def picking(places, size: int, kind) -> scipy.sparse.csr_array:
    """The matrix that selects the elements at some positions."""
    return _matrix(places[:, None], np.ones((len(places), 1), kind), size)


def linear(size: int, count: int, align_corners: bool, scale, kind) -> scipy.sparse.csr_array:
    """Weights of the two nearest elements; at the sides the outermost one is repeated.

    If the size does not change, this is the identity, whatever the scale.
    """
    if count == size:
        return picking(np.arange(size), size, kind)
    position = np.maximum(_positions(size, count, align_corners, scale, kind), 0)
    left = np.minimum(position.astype(np.int64), size - 1)
    right = np.minimum(left + 1, size - 1)
    share = np.clip(position - left.astype(kind), 0, 1)
    return _matrix(np.stack((left, right), 1), np.stack((1 - share, share), 1), size)


def cubic(size: int, count: int, align_corners: bool, scale, kind) -> scipy.sparse.csr_array:
    """Weights of the four nearest elements (R. Keys 1981, with -3/4 for his parameter)."""
    position = _positions(size, count, align_corners, scale, kind)
    left = np.minimum(np.floor(position).astype(np.int64), size - 1)
    share = np.clip(position - left.astype(kind), 0, 1)
    places = np.clip(left[:, None] + np.arange(-1, 3), 0, size - 1)
    return _matrix(places, cubic_weights(share), size)


def cubic_weights(share: np.ndarray) -> np.ndarray:
    """The weights (..., 4) of the elements around a position `share` past the second one."""
    distance = share[..., None] - np.arange(-1, 3).astype(share.dtype)
    return _keys(np.abs(distance), -0.75).astype(share.dtype)


def cubic_slopes(share: np.ndarray) -> np.ndarray:
    """The derivatives (..., 4) of `cubic_weights` with respect to `share`."""
    distance = share[..., None] - np.arange(-1, 3).astype(share.dtype)
    x, a = np.abs(distance), -0.75
    near = 3 * (a + 2) * x * x - 2 * (a + 3) * x
    far = a * (3 * x * x - 10 * x + 8)
    outer = np.array([True, False, False, True])
    return (np.where(outer, far, near) * np.sign(distance)).astype(share.dtype)


def cubic_curvatures(share: np.ndarray) -> np.ndarray:
    """The second derivatives (..., 4) of `cubic_weights` with respect to `share`."""
    x, a = np.abs(share[..., None] - np.arange(-1, 3).astype(share.dtype)), -0.75
    outer = np.array([True, False, False, True])
    return np.where(outer, a * (6 * x - 10), 6 * (a + 2) * x - 2 * (a + 3)).astype(share.dtype)


def cubic_thirds(share: np.ndarray) -> np.ndarray:
    """The third derivatives (..., 4) of `cubic_weights` with respect to `share`."""
    distance, a = share[..., None] - np.arange(-1, 3).astype(share.dtype), -0.75
    outer = np.array([True, False, False, True])
    return (np.where(outer, 6 * a, 6 * (a + 2)) * np.sign(distance)).astype(share.dtype)


def _keys(x, a: float):
    near = ((a + 2) * x - (a + 3)) * x * x + 1
    far = ((x - 5) * x + 8) * x * a - 4 * a
    return np.where(x < 1, near, np.where(x < 2, far, 0))


# -- antialiasing -------------------------------------------------------------------------------

# By mode, the number of elements that a filter spans, and its weight at a distance (as in Pillow).
FILTERS = {
    "bilinear": (2, lambda x: np.where(np.abs(x) < 1, 1 - np.abs(x), 0)),
    "bicubic": (4, lambda x: _keys(np.abs(x), -0.5)),
    "lanczos": (6, lambda x: np.where((x >= -3) & (x < 3), np.sinc(x) * np.sinc(x / 3), 0)),
}


def antialiased(mode: str, size: int, count: int, align_corners: bool, scale, kind):
    """Weights of all elements under a filter, which is widened by the ratio of sizes if that is
    above 1."""
    span, weight = FILTERS[mode]
    step = kind(_step(size, count, align_corners, scale))
    support = kind(span * 0.5) * max(step, kind(1))
    centres = step * (np.arange(count).astype(kind) + kind(0.5))
    first = np.maximum((centres - support + kind(0.5)).astype(np.int64), 0)
    most = math.ceil(support) * 2 + 1
    end = np.minimum((centres + support + kind(0.5)).astype(np.int64), size)
    number = np.clip(end - first, 0, most)
    places = first[:, None] + np.arange(most)
    distances = places.astype(kind) - centres[:, None] + kind(0.5)
    weights = np.asarray(weight(distances / max(step, kind(1))), kind)
    inside = np.arange(most) < number[:, None]
    weights = np.where(inside, weights, 0)
    total = weights.sum(1, keepdims=True)
    weights = np.where(total != 0, weights / np.where(total != 0, total, 1), weights).astype(kind)
    starts = np.concatenate(([0], np.cumsum(number)))
    return scipy.sparse.csr_array((weights[inside], places[inside], starts), (count, size))


# -- along the last dimensions -------------------------------------------------------------------


def _along(matrix, array: np.ndarray, axis: int) -> np.ndarray:
    front = np.moveaxis(array, axis, 0)
    made = matrix @ front.reshape(front.shape[0], -1)
    return np.moveaxis(made.reshape(matrix.shape[0], *front.shape[1:]), 0, axis)


def resampled(array: np.ndarray, matrices) -> np.ndarray:
    """The array with a matrix applied along each of its last dimensions, the last one first."""
    for axis, matrix in zip(range(-1, -len(matrices) - 1, -1), reversed(matrices), strict=True):
        array = _along(matrix, array, axis)
    return array


def resampled_bytes(array: np.ndarray, matrices) -> np.ndarray:
    """As `resampled`, for uint8: with weights of 16 bits, and rounded after each dimension.

    Dimensions whose size does not change are skipped.
    """
    wide = array.astype(np.int64)
    for axis, matrix in zip(range(-1, -len(matrices) - 1, -1), reversed(matrices), strict=True):
        if matrix.shape[0] == matrix.shape[1]:
            continue
        matrix.sum_duplicates()
        largest = matrix.data.max()
        bits = next((b for b in range(22) if int(0.5 + largest * (1 << b + 1)) >= 1 << 15), 22)
        scaled = matrix.data * (1 << bits)
        weights = np.trunc(scaled + np.copysign(0.5, scaled)).astype(np.int64)
        whole = scipy.sparse.csr_array((weights, matrix.indices, matrix.indptr), matrix.shape)
        wide = np.clip((_along(whole, wide, axis) + (1 << bits - 1)) >> bits, 0, 255)
    return wide.astype(array.dtype)
