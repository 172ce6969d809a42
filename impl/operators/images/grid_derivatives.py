"""The second derivative of sampling at a grid, and with it all that follow.

A sample derived with respect to coordinates is a sample with other weights, so the operators here,
which take tuples of the coordinates to derive by, are closed under differentiation.
"""

from __future__ import annotations

import itertools

import numpy as np

from impl.core.dtypes import REDUCED
from impl.dispatch.definition import Array, operator
from impl.dispatch.formula_helpers import needed, summed
from impl.operators.images.grid_matrices import (
    BICUBIC,
    BILINEAR,
    NEAREST,
    REFLECTION,
    Sampling,
    images_of,
    rows_of,
)


@operator(function=False, method=False)
def derived_samples(input: Array, grid: Array, settings, derived) -> Array:
    """The samples, derived by the coordinates of each of these tuples (tuples, N, C, ...)."""
    sampling, rows = Sampling(input.shape, grid, *settings), rows_of(input)
    shape = (*input.shape[:2], *grid.shape[1:-1])
    return np.stack([images_of(sampling.matrix(*by) @ rows, shape, input.dtype) for by in derived])


@operator(function=False, method=False)
def spread_samples(samples: Array, grid: Array, shape, settings, derived) -> Array:
    """The adjoint of `derived_samples`: images (N, C, elements) for those of that shape.

    Bicubic ones of volumes have that shape themselves: ATen adds them to zeros of the input's
    shape, where it scatters the others into rows, of which the gradient is a view.
    """
    sampling = Sampling(shape, grid, *settings)
    spread = sum(
        sampling.matrix(*by).T @ rows_of(part) for by, part in zip(derived, samples, strict=True)
    )
    images = images_of(spread, shape, samples.dtype)
    if settings[0] == BICUBIC and len(shape) == 5:
        return images
    return images.reshape(*shape[:2], -1)


def _growth(F, grad, input, grid, settings, derived):
    """The derivative of the samples by each coordinate, over all tuples and channels (N, ...,
    ndim)."""
    ndim = len(input.shape) - 2
    more = [(*by, d) for d in range(ndim) for by in derived]
    grown = F.derived_samples(input, grid, settings, more)
    grown = F.reshape(grown, (ndim, len(derived), *grown.shape[1:]))
    return F.stack(F.unbind(F.sum_dim(grown * grad, (1, 3), False)), -1)


derived_samples.gradient(
    input=lambda F, grad, grid, input_shape, settings, derived: F.reshape(
        F.spread_samples(grad, grid, input_shape, settings, derived), input_shape
    ),
    grid=_growth,
)
spread_samples.gradient(
    samples=lambda F, grad, grid, shape, settings, derived: F.derived_samples(
        F.reshape(grad, shape), grid, settings, derived
    ),
    grid=lambda F, grad, samples, grid, shape, settings, derived: _growth(
        F, samples, F.reshape(grad, shape), grid, settings, derived
    ),
)


def sample_tangent(F, name: str, input_t, grid_t, input, grid, settings):
    """The tangent of samples, as composed: that of the images is sampled by the operator, `name`,
    and that of the grid moves the samples."""
    sampled = getattr(F, name)(input_t, grid, *settings)
    if settings[0] == NEAREST:
        return sampled
    return sampled + _moved(F, F.stack(F.unbind(grid_t, -1)), input, grid, settings)


def _moved(F, shifts, input, grid, settings):
    """The first-order change of the samples by shifts of the coordinates, (ndim, N, ...)."""
    single = [(d,) for d in range(len(input.shape) - 2)]
    moved = F.derived_samples(input, grid, settings, single)
    return F.sum_dim(moved * F.unsqueeze(shifts, 2), (0,), False)


def second_gradients(F, name: str, grads, grad_output, input, grid, settings, needs) -> tuple:
    """The second derivatives: from the cotangents of the gradients of input and grid to cotangent,
    input and grid.

    `name` is that of the operator, which serves again for a cotangent of the input's gradient.
    """
    of_input, of_grid = grads
    made = [None, None, None]
    if of_input is not None:
        backward = getattr(F, f"{name}_backward")
        if needs[0]:
            made[0] = getattr(F, name)(of_input, grid, *settings)
        if needs[2]:
            made[2] = backward(grad_output, of_input, grid, *settings, (False, True))[1]
    if of_grid is not None and settings[0] != NEAREST:
        more = _of_grid(F, of_grid, grad_output, input, grid, settings, needs)
        made = [summed(*pair) for pair in zip(made, more, strict=True)]
    return needed(made, needs)


def _of_grid(F, of_grid, grad_output, input, grid, settings, needs) -> list:
    ndim = len(input.shape) - 2
    single = [(d,) for d in range(ndim)]
    shifts = F.stack(F.unbind(of_grid, -1))
    along = F.unsqueeze(shifts, 2)
    made = [None, None, None]
    if needs[0]:
        made[0] = _moved(F, shifts, input, grid, settings)
    if needs[1]:
        if settings[:2] == (BILINEAR, REFLECTION) and F.dtype_of(input) in REDUCED:
            # As ATen has it, which reflects coordinates in another precision there (FIND-43).
            raise RuntimeError("scatter(): Expected self.dtype to be equal to src.dtype")
        shape = tuple(input.shape)
        spread = F.spread_samples(grad_output * along, grid, shape, settings, single)
        made[1] = spread if tuple(spread.shape) == shape else F.reshape(spread, shape)
    if needs[2]:
        pairs = list(itertools.combinations_with_replacement(range(ndim), 2))
        grown = F.derived_samples(input, grid, settings, pairs) * grad_output
        grown = dict(zip(pairs, F.unbind(F.sum_dim(grown, (2,), False)), strict=True))
        table = F.stack([grown[min(d, e), max(d, e)] for e in range(ndim) for d in range(ndim)])
        table = F.reshape(table, (ndim, ndim, *table.shape[1:]))
        made[2] = F.stack(F.unbind(F.sum_dim(table * shifts, (1,), False)), -1)
    return made
