"""Images sampled at the points of a grid: nearest, linear and cubic, in two and three dimensions.

A sample is a sum over the elements around its point, weighted in each dimension by a function of
the point's coordinate. So sampling is a sparse matrix, and its derivatives with respect to the
grid are matrices whose weights are derived in one dimension or in two.
"""

from __future__ import annotations

import itertools
import math
import warnings
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse

from impl.dtypes import BY_NUMPY, FLOATING
from impl.operator import TAPED, Array, function, operator
from impl.operators.gradients import needed
from impl.operators.resampling import cubic_curvatures, cubic_slopes, cubic_weights
from impl.precision import widened
from impl.refusals import no_derivative, not_implemented
from impl.tensor import Tensor

_BILINEAR, _NEAREST, _BICUBIC = range(3)
_ZEROS, _BORDER, _REFLECTION = range(3)


class _Axis(NamedTuple):
    """One dimension: the elements around each point (points, taps), whether they exist, and their
    weights with the first and the second derivatives."""

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
    if padding == _ZEROS:
        return x, np.ones_like(x)
    slope = np.ones_like(x)
    if padding == _REFLECTION:
        x, sign = _reflected(x, size, align_corners)
        slope = sign.astype(x.dtype)
    slope = np.where((x <= 0) | (x >= size - 1), 0, slope).astype(x.dtype)
    return np.clip(x, 0, size - 1), slope


def _axis(grid: np.ndarray, size: int, mode: int, padding: int, align_corners: bool) -> _Axis:
    number = grid.dtype.type
    grid = np.where(np.isnan(grid), number(-1), grid)
    if align_corners:
        x, scale = (grid + 1) / 2 * (size - 1), number((size - 1) / 2)
    else:
        x, scale = ((grid + 1) * size - 1) / 2, number(size / 2)
    if mode == _BICUBIC:
        left = np.floor(x)
        share = x - left
        at = (left[:, None] + np.arange(-1, 3)).astype(grid.dtype)
        at, _ = _padded(at, size, padding, align_corners)
        weights = (
            cubic_weights(share),
            cubic_slopes(share) * scale,
            cubic_curvatures(share) * scale * scale,
        )
    else:
        x, slope = _padded(x, size, padding, align_corners)
        slope = (slope * scale)[:, None]
        if mode == _NEAREST:
            at = np.rint(x)[:, None]
            ones = np.ones_like(at)
            weights = (ones, 0 * ones, 0 * ones)
        else:
            left = np.floor(x)
            at = np.stack((left, left + 1), 1)
            share = (x - left)[:, None]
            weights = (
                np.concatenate((1 - share, share), 1),
                np.concatenate((-slope, slope), 1),
                np.zeros_like(at),
            )
    inside = (at >= 0) & (at < size)
    return _Axis(np.where(inside, at, 0).astype(np.int64), inside, weights)


class _Sampling:
    """The sparse matrices of a grid (n, ..., d) over images (n, channels, ...).

    They take rows of channels to rows of channels, of all images at once.
    """

    def __init__(self, shape, grid, mode: int, padding: int, align_corners: bool) -> None:
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
        shape = (self.points, self.images * plane)
        return scipy.sparse.csr_array((values, columns, starts), shape)


def _rows(images: np.ndarray) -> np.ndarray:
    """(n, channels, ...) as rows of channels."""
    return np.moveaxis(widened(images), 1, -1).reshape(-1, images.shape[1])


def _images(rows: np.ndarray, shape, dtype) -> np.ndarray:
    """The rows of channels as (n, channels, ...)."""
    made = rows.reshape(shape[0], *shape[2:], shape[1])
    return np.ascontiguousarray(np.moveaxis(made, -1, 1)).astype(dtype, copy=False)


def _check(input, grid, mode: int, ndim: int) -> None:
    shapes = f"input with sizes {[*input.shape]} and grid with sizes {[*grid.shape]}"
    if input.shape[0] != grid.shape[0]:
        raise RuntimeError(
            f"grid_sampler(): expected grid and input to have same batch size, but got {shapes}"
        )
    if grid.shape[-1] != input.ndim - 2:
        raise RuntimeError(
            f"grid_sampler(): expected grid to have size {input.ndim - 2} in last dimension, but "
            f"got grid with sizes {[*grid.shape]}"
        )
    for dim, n in enumerate(input.shape[2:], 2):
        if not n:
            raise RuntimeError(
                "grid_sampler(): expected input to have non-empty spatial dimensions, but input "
                f"has sizes {[*input.shape]} with dimension {dim} being empty"
            )
    if input.ndim != ndim + 2 or grid.ndim != input.ndim:
        raise RuntimeError(
            f"grid_sampler(): expected {ndim + 2}D input and grid with same number of dimensions, "
            f"but got {shapes}"
        )
    if ndim == 3 and mode == _BICUBIC:
        raise RuntimeError("grid_sampler(): bicubic interpolation only supports 4D input")
    kind, other = BY_NUMPY[input.dtype], BY_NUMPY[grid.dtype]
    if kind.category != FLOATING:
        loop = "grid_sampler_2d_cpu_kernel_impl" if ndim == 2 else "grid_sampler3d_cpu"
        raise not_implemented(loop, kind)
    if kind is not other:
        raise RuntimeError(f"expected scalar type {kind.legacy} but found {other.legacy}")


def _double(ndim: int, gradients, grad_output, input, grid, settings):
    """What cotangents of both gradients mean for what they were made of."""
    of_input, of_grid = gradients
    sampling = _Sampling(input.shape, widened(grid), *settings)
    x, g = _rows(input), _rows(grad_output)
    to_output, to_input, to_grid = 0 * g, 0 * x, np.zeros((len(g), ndim), g.dtype)
    if of_input is not None:
        u = _rows(of_input)
        to_output = to_output + sampling.matrix() @ u
        for d in range(ndim):
            to_grid[:, d] += ((sampling.matrix(d) @ u) * g).sum(1)
    if of_grid is not None:
        v = widened(of_grid).reshape(-1, ndim)
        for d in range(ndim):
            along = sampling.matrix(d)
            to_output = to_output + (along @ x) * v[:, d, None]
            to_input = to_input + along.T @ (g * v[:, d, None])
            for e in range(ndim):
                to_grid[:, e] += ((sampling.matrix(d, e) @ x) * g).sum(1) * v[:, d]
    return (
        _images(to_output, grad_output.shape, grad_output.dtype),
        _images(to_input, input.shape, input.dtype),
        to_grid.reshape(grid.shape).astype(grid.dtype, copy=False),
    )


def _define(ndim: int) -> None:
    """The operator over two or three dimensions, its backward, and that one's."""
    name = f"grid_sampler_{ndim}d"

    def forward(
        input: Array, grid: Array, interpolation_mode, padding_mode, align_corners
    ) -> Array:
        _check(input, grid, interpolation_mode, ndim)
        shape = (*input.shape[:2], *grid.shape[1:-1])
        sampling = _Sampling(
            input.shape, widened(grid), interpolation_mode, padding_mode, align_corners
        )
        return _images(sampling.matrix() @ _rows(input), shape, input.dtype)

    def backward(
        grad_output: Array,
        input: Array,
        grid: Array,
        interpolation_mode,
        padding_mode,
        align_corners,
        output_mask,
    ) -> tuple:
        sampling = _Sampling(
            input.shape, widened(grid), interpolation_mode, padding_mode, align_corners
        )
        g = _rows(grad_output)
        to_input, to_grid = np.empty(0, input.dtype), np.empty(0, grid.dtype)
        if output_mask[0]:
            to_input = _images(sampling.matrix().T @ g, input.shape, input.dtype)
        if output_mask[1]:
            x = _rows(input)
            parts = [(g * (sampling.matrix(d) @ x)).sum(1) for d in range(ndim)]
            to_grid = np.stack(parts, 1).reshape(grid.shape).astype(grid.dtype, copy=False)
        return to_input, to_grid

    def twice(
        of_input: Array | None,
        of_grid: Array | None,
        grad_output: Array,
        input: Array,
        grid: Array,
        interpolation_mode,
        padding_mode,
        align_corners,
    ) -> tuple:
        settings = (interpolation_mode, padding_mode, align_corners)
        return _double(ndim, (of_input, of_grid), grad_output, input, grid, settings)

    def gradients(F, grad, input, grid, interpolation_mode, padding_mode, align_corners, needs):
        settings = (interpolation_mode, padding_mode, align_corners)
        made = getattr(F, f"{name}_backward")(grad, input, grid, *settings, needs)
        return needed(made, needs)

    def second_gradients(
        F, grads, grad_output, input, grid, interpolation_mode, padding_mode, align_corners, needs
    ):
        settings = (interpolation_mode, padding_mode, align_corners)
        made = getattr(F, f"{name}_double_backward")(*grads, grad_output, input, grid, *settings)
        to_output, to_input, to_grid = needed(made, needs)
        # Where the nearest element is taken, the grid's gradient is zero whatever the input.
        return to_output, None if interpolation_mode == _NEAREST else to_input, to_grid

    forward.__name__, backward.__name__ = name, f"{name}_backward"
    twice.__name__ = f"{name}_double_backward"
    node = f"GridSampler{ndim}DBackward"
    operator(node=node + "0", function=False, method=False)(forward).gradients("input", "grid")(
        gradients
    )
    outputs = ("result0", "result1")
    made = operator(node=node + "Backward0", outputs=outputs, function=False, method=False)
    made(backward).gradients("grad_output", "input", "grid")(second_gradients)
    made = operator(
        node="NotImplemented",
        outputs=("to_output", "to_input", "to_grid"),
        function=False,
        method=False,
    )
    refuse = no_derivative(f"{name}_double_backward")
    made(twice).gradients("of_input", "of_grid", "grad_output", "input", "grid")(refuse)


_define(2)
_define(3)


@function("grid_sampler_2d", method=False)
def grid_sampler_2d(input, grid, interpolation_mode, padding_mode, align_corners):
    """`functional.grid_sample` of (N, C, H, W), modes by number (torch.grid_sampler_2d)."""
    return TAPED.grid_sampler_2d(input, grid, interpolation_mode, padding_mode, align_corners)


@function("grid_sampler_3d", method=False)
def grid_sampler_3d(input, grid, interpolation_mode, padding_mode, align_corners):
    """As `grid_sampler_2d`, of (N, C, D, H, W) (torch.grid_sampler_3d)."""
    return TAPED.grid_sampler_3d(input, grid, interpolation_mode, padding_mode, align_corners)


@function("grid_sampler", method=False)
def grid_sampler(input, grid, interpolation_mode, padding_mode, align_corners):
    """`grid_sampler_2d` or `grid_sampler_3d`, by the rank (torch.grid_sampler)."""
    sample = TAPED.grid_sampler_3d if input._raw.ndim == 5 else TAPED.grid_sampler_2d
    return sample(input, grid, interpolation_mode, padding_mode, align_corners)


_MODES = {"bilinear": _BILINEAR, "nearest": _NEAREST, "bicubic": _BICUBIC}
_PADDINGS = {"zeros": _ZEROS, "border": _BORDER, "reflection": _REFLECTION}


def grid_sample(input, grid, mode="bilinear", padding_mode="zeros", align_corners=None) -> Tensor:
    """The images (N, C, H, W) or (N, C, D, H, W) at the points of a grid (N, ..., 2 or 3).

    The coordinates, the last dimension's first, go from -1 to 1 between the outermost elements'
    centres (`align_corners`) or outer sides. `mode` is "bilinear", "nearest" or, in two dimensions,
    "bicubic"; outside there are zeros, the nearest element ("border") or the mirror image
    ("reflection"). Raises ValueError for other modes, RuntimeError for sizes that do not fit
    (torch.nn.functional.grid_sample).
    """
    if mode not in _MODES:
        raise ValueError(
            "nn.functional.grid_sample(): expected mode to be 'bilinear', 'nearest' or 'bicubic', "
            f"but got: '{mode}'"
        )
    if padding_mode not in _PADDINGS:
        raise ValueError(
            "nn.functional.grid_sample(): expected padding_mode to be 'zeros', 'border', or "
            f"'reflection', but got: '{padding_mode}'"
        )
    if align_corners is None:
        warn_of_default()
        align_corners = False
    return grid_sampler(input, grid, _MODES[mode], _PADDINGS[padding_mode], align_corners)


def warn_of_default() -> None:
    """Warn, as torch does, of what `align_corners` is when it is not given."""
    warnings.warn(
        "Default grid_sample and affine_grid behavior has changed to align_corners=False since "
        "1.3.0. Please specify align_corners=True if the old behavior is desired. See the "
        "documentation of grid_sample for details.",
        stacklevel=3,
    )
