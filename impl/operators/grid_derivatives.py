"""The second derivative of sampling at a grid, and with it all that follow.

A sample derived with respect to coordinates is a sample with other weights, so the operators here,
which take the coordinates to derive by, are closed under differentiation.
"""

from __future__ import annotations

import functools
import itertools
import operator as _python

from impl.operator import Array, operator
from impl.operators.gradients import needed, summed
from impl.operators.grid_matrices import NEAREST, Sampling, images_of, rows_of


@operator(function=False, method=False)
def derived_samples(input: Array, grid: Array, settings, derived) -> Array:
    """The samples (N, C, ...), derived by the coordinates of these numbers."""
    matrix = Sampling(input.shape, grid, *settings).matrix(*derived)
    shape = (*input.shape[:2], *grid.shape[1:-1])
    return images_of(matrix @ rows_of(input), shape, input.dtype)


@operator(function=False, method=False)
def spread_samples(samples: Array, grid: Array, shape, settings, derived) -> Array:
    """The adjoint of `derived_samples`: images (N, C, elements) for those of that shape."""
    matrix = Sampling(shape, grid, *settings).matrix(*derived)
    made = images_of(matrix.T @ rows_of(samples), shape, samples.dtype)
    return made.reshape(*shape[:2], -1)


def _growth(F, samples, input, grid, settings, derived):
    """What the last of these coordinates grows the samples, over all channels (N, ...)."""
    return F.sum_dim(samples * F.derived_samples(input, grid, settings, derived), (1,), False)


def _of_coordinates(F, samples, input, grid, settings, derived):
    """The gradient of the grid."""
    numbers = range(len(input.shape) - 2)
    return F.stack([_growth(F, samples, input, grid, settings, (*derived, d)) for d in numbers], -1)


derived_samples.gradient(
    input=lambda F, grad, grid, input_shape, settings, derived: F.reshape(
        F.spread_samples(grad, grid, input_shape, settings, derived), input_shape
    ),
    grid=lambda F, grad, input, grid, settings, derived: _of_coordinates(
        F, grad, input, grid, settings, derived
    ),
)
spread_samples.gradient(
    samples=lambda F, grad, grid, shape, settings, derived: F.derived_samples(
        F.reshape(grad, shape), grid, settings, derived
    ),
    grid=lambda F, grad, samples, grid, shape, settings, derived: _of_coordinates(
        F, samples, F.reshape(grad, shape), grid, settings, derived
    ),
)


def second_gradients(F, name: str, grads, grad_output, input, grid, settings, needs) -> tuple:
    """What cotangents of the gradients of input and grid mean for cotangent, input and grid.

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
    shifts = [F.select(of_grid, -1, d) for d in range(ndim)]
    along = [F.unsqueeze(shift, 1) for shift in shifts]
    made = [None, None, None]
    if needs[0]:
        moved = [F.derived_samples(input, grid, settings, (d,)) for d in range(ndim)]
        made[0] = moved[0] * along[0]
        for sample, shift in zip(moved[1:], along[1:], strict=True):
            made[0] = F.addcmul(made[0], sample, shift)
    if needs[1]:
        spread = [
            F.spread_samples(grad_output * along[d], grid, tuple(input.shape), settings, (d,))
            for d in range(ndim)
        ]
        made[1] = F.reshape(functools.reduce(_python.add, spread), tuple(input.shape))
    if needs[2]:
        pairs = itertools.combinations_with_replacement(range(ndim), 2)
        grown = {pair: _growth(F, grad_output, input, grid, settings, pair) for pair in pairs}
        made[2] = F.stack(
            [
                functools.reduce(
                    _python.add, (shifts[d] * grown[min(d, e), max(d, e)] for d in range(ndim))
                )
                for e in range(ndim)
            ],
            -1,
        )
    return made
