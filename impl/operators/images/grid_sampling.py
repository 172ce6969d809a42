"""Grid sampling of images: nearest, linear and cubic interpolation, in two and three dimensions
(torch.nn.functional.grid_sample)."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from impl.core.dims import existing_dim
from impl.core.dtypes import BY_NUMPY, FLOATING
from impl.core.registry import tensor_ops
from impl.dispatch.definition import Array, function, operator
from impl.dispatch.formula_helpers import needed
from impl.dispatch.not_implemented import not_implemented, require_scalar_type
from impl.dispatch.vmap_rules import folded_into, hide_at, unfolded
from impl.operators.images.grid_derivatives import sample_tangent, second_gradients
from impl.operators.images.grid_matrices import (
    Sampling,
    images_of,
    rows_of,
)
from impl.tensor.batched_tensor import is_at


def _check(input, grid, ndim: int) -> None:
    existing_dim(0, input.ndim)
    existing_dim(0, grid.ndim)
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
    kind = BY_NUMPY[input.dtype]
    if kind.category != FLOATING:
        loop = "grid_sampler_2d_cpu_kernel_impl" if ndim == 2 else "grid_sampler3d_cpu"
        raise not_implemented(loop, kind)
    require_scalar_type(grid, input.dtype)


def _sampled_of_batch(sampler, args, level):
    """The examples' images are more images, or where there is one grid for all more channels; the
    grids of one image are one higher grid (ATen/functorch/BatchRulesModules.cpp)."""
    input, grid, *settings = args
    own_input, own_grid = is_at(input, level), is_at(grid, level)
    into = 0 if own_input and own_grid else 1
    images = folded_into(input, into) if own_input else input
    places = folded_into(grid, into) if own_grid else grid
    dim = into if own_input else 2
    return hide_at(unfolded(sampler(images, places, *settings), dim, level.size), dim, level)


def _define(ndim: int) -> None:
    """The operator over two or three dimensions, and its backward."""
    name = f"grid_sampler_{ndim}d"

    def forward(
        input: Array, grid: Array, interpolation_mode, padding_mode, align_corners
    ) -> Array:
        _check(input, grid, ndim)
        shape = (*input.shape[:2], *grid.shape[1:-1])
        sampling = Sampling(input.shape, grid, interpolation_mode, padding_mode, align_corners)
        return images_of(sampling.matrix() @ rows_of(input), shape, input.dtype)

    def backward(
        grad_output: Array,
        input: Array,
        grid: Array,
        interpolation_mode,
        padding_mode,
        align_corners,
        output_mask,
    ) -> tuple:
        require_scalar_type(grad_output, input.dtype)
        sampling = Sampling(input.shape, grid, interpolation_mode, padding_mode, align_corners)
        g = rows_of(grad_output)
        to_input, to_grid = np.empty(0, input.dtype), np.empty(0, grid.dtype)
        if output_mask[0]:
            to_input = images_of(sampling.matrix().T @ g, input.shape, input.dtype)
        if output_mask[1]:
            x = rows_of(input)
            parts = [(g * (sampling.matrix(d) @ x)).sum(1) for d in range(ndim)]
            to_grid = np.empty(grid.shape, grid.dtype)
            to_grid.reshape(-1, ndim)[...] = np.stack(parts, 1)
        return to_input, to_grid

    def gradients(F, grad, input, grid, interpolation_mode, padding_mode, align_corners, needs):
        settings = (interpolation_mode, padding_mode, align_corners)
        made = getattr(F, f"{name}_backward")(grad, input, grid, *settings, needs)
        return needed(made, needs)

    def of_backward(
        F, grads, grad_output, input, grid, interpolation_mode, padding_mode, align_corners, needs
    ):
        settings = (interpolation_mode, padding_mode, align_corners)
        return second_gradients(F, name, grads, grad_output, input, grid, settings, needs)

    def tangent(F, input_t, grid_t, input, grid, interpolation_mode, padding_mode, align_corners):
        settings = (interpolation_mode, padding_mode, align_corners)
        return sample_tangent(F, name, input_t, grid_t, input, grid, settings)

    forward.__name__, backward.__name__ = name, f"{name}_backward"
    node = f"GridSampler{ndim}DBackward"
    sampler = operator(node=node + "0", function=False, method=False, autocast="fp32")(forward)
    sampler.gradients("input", "grid")(gradients)
    sampler.forward(tangent)
    sampler.batches(functools.partial(_sampled_of_batch, sampler))
    outputs = ("result0", "result1")
    hidden: dict[str, Any] = {"function": False, "method": False, "batching": "merged"}
    backwards = operator(node=node + "Backward0", outputs=outputs, **hidden)(backward)
    backwards.gradients("grad_output", "input", "grid")(of_backward)
    backwards.forward("unsupported", name=f"{name}_backward", invited=True)


_define(2)
_define(3)


@function("grid_sampler_2d", method=False)
def grid_sampler_2d(input, grid, interpolation_mode, padding_mode, align_corners):
    """`functional.grid_sample` of (N, C, H, W), modes by number (torch.grid_sampler_2d)."""
    return tensor_ops.grid_sampler_2d(input, grid, interpolation_mode, padding_mode, align_corners)


@function("grid_sampler_3d", method=False)
def grid_sampler_3d(input, grid, interpolation_mode, padding_mode, align_corners):
    """As `grid_sampler_2d`, of (N, C, D, H, W) (torch.grid_sampler_3d)."""
    return tensor_ops.grid_sampler_3d(input, grid, interpolation_mode, padding_mode, align_corners)


@function("grid_sampler", method=False)
def grid_sampler(input, grid, interpolation_mode, padding_mode, align_corners):
    """`grid_sampler_2d` or `grid_sampler_3d`, by the rank (torch.grid_sampler)."""
    sample = tensor_ops.grid_sampler_3d if input._raw.ndim == 5 else tensor_ops.grid_sampler_2d
    return sample(input, grid, interpolation_mode, padding_mode, align_corners)
