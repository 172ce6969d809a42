"""Affine grids: the sampling points of images under affine maps."""

from __future__ import annotations

import math

import numpy as np

from impl.core.dims import wrap_dim
from impl.core.registry import array_ops, tensor_ops
from impl.dispatch.definition import Array, formula_operation, operator
from impl.tensor.tensor import new


def _base(size, align_corners: bool, dtype) -> np.ndarray:
    """The points of a regular grid in homogeneous coordinates (points, d + 1), the last dimension's
    coordinate first."""
    axes = []
    for n in size[2:]:
        steps = np.linspace(-1, 1, n, dtype=np.float64) if n > 1 else np.zeros(n)
        axes.append(steps if align_corners else steps * (n - 1) / n)
    grids = np.meshgrid(*axes, indexing="ij")
    columns = [*reversed(grids), np.ones(size[2:])]
    return np.stack([c.reshape(-1) for c in columns], 1).astype(dtype)


@operator(method=False, batching="fallback")
def affine_grid_generator(theta: Array, size, align_corners) -> Array:
    """`functional.affine_grid` without its checks (torch.affine_grid_generator)."""
    dims = len(size) - 2
    if dims not in (2, 3):
        raise RuntimeError("AffineGridGenerator needs 4d (spatial) or 5d (volumetric) inputs.")
    if any(n < 0 for n in size[2:]):
        made = [size[0], *size[2:], dims + 1]
        raise RuntimeError(
            f"Trying to create tensor with negative dimension {min(size[2:])}: {made}"
        )
    base = _base(size, align_corners, theta.dtype)
    wrap_dim(1, theta.ndim)
    wrap_dim(2, theta.ndim)
    if theta.ndim == 3 and theta.shape[0] != size[0]:
        raise RuntimeError(
            f"Expected size for first two dimensions of batch2 tensor to be: [{size[0]}, "
            f"{base.shape[1]}] but got: [{theta.shape[0]}, {theta.shape[2]}]."
        )
    points = np.matmul(base, theta.swapaxes(-1, -2)).astype(theta.dtype, copy=False)
    shape = (size[0], *size[2:], dims)
    if points.size != math.prod(shape):
        raise RuntimeError(f"shape '{[*shape]}' is invalid for input of size {points.size}")
    return points.reshape(size[0], *size[2:], theta.shape[-2])


@formula_operation
def affine_base(like, size, align_corners):
    """The regular grid's points, repeated for each matrix and transposed: (n, d + 1, points)."""
    base = _base(size, align_corners, like.dtype)
    return np.broadcast_to(base, (size[0], *base.shape)).swapaxes(1, 2)


tensor_ops.affine_base = lambda like, size, align_corners: new(
    np.ascontiguousarray(array_ops.affine_base(like._raw, size, align_corners))
)


@affine_grid_generator.gradients("theta")
def _gradient(F, grad, size, align_corners):
    points = F.reshape(grad, (size[0], -1, len(size) - 2))
    return F.transpose(F.bmm(F.affine_base(grad, size, align_corners), points), 1, 2)


affine_grid_generator.forward("linear")
