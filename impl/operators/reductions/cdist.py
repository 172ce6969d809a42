"""Distances between the rows of matrices: cdist and pdist (ATen's Distance.cpp).

The gradient is zero where the distance is zero, torch's choice among the subgradients.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from impl.core.dtypes import FLOATING
from impl.core.registry import tensor_ops
from impl.core.sizes import broadcast_shapes
from impl.dispatch.autocast import fp32
from impl.dispatch.definition import Array, function, native, operator
from impl.dispatch.not_implemented import require_full_precision, require_scalar_type
from impl.dispatch.vmap_rules import fronted, hide_at
from impl.operators.reductions.distance_derivatives import of_cdist_backward, of_pdist_backward
from impl.tensor.batched_tensor import is_at
from impl.tensor.tensor import Tensor

# -- kernels ------------------------------------------------------------------------------------

_AT_ONCE = 1 << 20  # the most differences held in memory at a time


def _pieces(x1, x2) -> Iterator[tuple[slice, np.ndarray]]:
    """Slices of the rows of `x1` (..., n, k), each with the differences (..., rows, m, k) of these
    rows from those of `x2` (..., m, k)."""
    batch = math.prod(broadcast_shapes(x1.shape[:-2], x2.shape[:-2]))
    step = max(1, _AT_ONCE // max(1, batch * x2.shape[-2] * x2.shape[-1]))
    for start in range(0, x1.shape[-2], step):
        rows = slice(start, start + step)
        yield rows, x1[..., rows, None, :] - x2[..., None, :, :]


def _lengths(difference, p: float):
    """The norms of order `p` over the last dimension."""
    size = np.abs(difference)
    if p == 0:
        return np.count_nonzero(size, axis=-1)
    if p == 1:
        return size.sum(-1)
    if p == 2:
        return np.sqrt(np.square(size, out=size).sum(-1))
    if math.isinf(p):
        return size.max(-1, initial=0)
    return np.power(np.power(size, p).sum(-1), 1 / p)


def _distances(x1, x2, p: float):
    batch = broadcast_shapes(x1.shape[:-2], x2.shape[:-2])
    result = np.empty((*batch, x1.shape[-2], x2.shape[-2]), x1.dtype)
    for rows, difference in _pieces(x1, x2):
        result[..., rows, :] = _lengths(difference, p)
    return result


def _directions(difference, p: float, length):
    """The derivatives of the norms of order `p`, `length` (..., 1), by the differences."""
    if p == 1:
        return np.sign(difference)
    if math.isinf(p):
        return np.sign(difference) * (np.abs(difference) == length)
    if p == 2:
        return np.where(length == 0, 0, difference / length)
    power = np.sign(difference) * np.power(np.abs(difference), p - 1)
    if p < 1:
        power = np.where(difference == 0, 0, power)
    return np.where(length == 0, 0, power / np.power(length, p - 1))


def _gradient(grad, x1, x2, p: float, lengths):
    """The gradient of `x1` (..., n, k), from that of the distances (..., n, m).

    It has the batch dimensions of the distances, and the engine sums it to `x1`'s shape; empty
    operands give zeros in `x1`'s shape.
    """
    if not grad.size or not x1.size:
        return np.zeros_like(x1)
    result = np.zeros((*grad.shape[:-1], x1.shape[-1]), x1.dtype)
    if p == 0:
        return result
    with np.errstate(divide="ignore", invalid="ignore"):
        for rows, difference in _pieces(x1, x2):
            directions = _directions(difference, p, lengths[..., rows, :, None])
            result[..., rows, :] = np.sum(grad[..., rows, :, None] * directions, -2)
    return result


# -- distances from one set of rows to another --------------------------------------------------


@operator(node="CdistBackward0", function=False, method=False)
def cdist_forward(x1: Array, x2: Array, p) -> Array:
    if x1.size and x2.size:  # else ATen runs no kernel
        require_full_precision(x1, "cdist")
        require_scalar_type(x2, x1.dtype)
    return _distances(x1, x2, p)


@operator(node="CdistBackwardBackward0", function=False, method=False)
def cdist_backward(grad_output: Array, x1: Array, x2: Array, p, cdist: Array) -> Array:
    require_scalar_type(grad_output, x1.dtype)
    return _gradient(grad_output, x1, x2, p, cdist)


@cdist_backward.batches
def _of_first_example(args, level):
    """Where the cotangent alone is batched, every example has the gradient of the first one, as by
    ATen's rule, which counts the batch of the rows (`cdist_backward_batch_rule`)."""
    grad_output, x1, x2, *settings = args
    if is_at(x1, level) or is_at(x2, level) or not level.size:
        return NotImplemented
    first = tensor_ops.select(fronted(grad_output, level), 0, 0)
    result = cdist_backward(first, x1, x2, *settings)
    return hide_at(result.expand(level.size, *result._raw.shape), 0, level)


def _turned(F, value):
    return F.contiguous(F.transpose(value, -2, -1))


cdist_forward.gradient(
    x1=lambda F, grad, x1, x2, p, result: F.cdist_backward(F.contiguous(grad), x1, x2, p, result),
    x2=lambda F, grad, x1, x2, p, result: F.cdist_backward(
        _turned(F, grad), x2, x1, p, _turned(F, result)
    ),
).forward("unsupported", name="_cdist_forward", invited=True)
cdist_backward.gradients("grad_output", "x1", "x2", "cdist")(of_cdist_backward)
cdist_backward.forward("unsupported", name="_cdist_backward", invited=True)


@operator(function=False, method=False, batching="leading")
def euclidean_dist(x1: Array, x2: Array) -> Array:
    """Euclidean distances by one matrix product: |a - b|^2 = |a|^2 - 2 ab + |b|^2."""
    one, two = (np.sum(x * x, -1, keepdims=True) for x in (x1, x2))
    left = np.concatenate([x1 * -2, one, np.ones_like(one)], -1)
    right = np.concatenate([x2, np.ones_like(two), two], -1)
    squares = np.matmul(left, right.swapaxes(-1, -2))
    return np.sqrt(np.maximum(squares, 0, out=squares), out=squares)


@euclidean_dist.gradients("x1", "x2")
def _euclidean_gradients(F, grad, x1, x2, result):
    ratio = F.fill_fresh(grad / result, result == 0, 0)
    columns = F.unsqueeze(F.sum_dim(ratio, (-2,), False), -1)
    return (
        x1 * F.sum_dim(ratio, (-1,), True) - F.matrix_product(ratio, x2),
        x2 * columns - F.matrix_product(F.transpose(ratio, -2, -1), x1),
    )


euclidean_dist.forward("unsupported", name="_euclidean_dist", invited=True)

_MULTIPLY, _SUBTRACT = 1, 2  # the modes of ATen: by a matrix product, or by differences


@native()
@fp32
def cdist(x1, x2, p=2, compute_mode=None):
    """The distances of order `p` of the rows of `x1` (..., n, k) from those of `x2` (..., m, k), as
    (..., n, m).

    Euclidean distances of more than 25 rows are computed by a matrix product, unless
    `compute_mode` forbids it. Raises RuntimeError for less than two dimensions, different numbers
    of columns, integers and complex numbers, and a negative `p`.
    """
    _check_distances(x1, x2, p)
    one, two = x1._raw.shape, x2._raw.shape
    multiplies = compute_mode == _MULTIPLY
    if compute_mode is None:
        multiplies = max(one[-2], two[-2]) > 25
    if not x1._raw.size or not x2._raw.size or p != 2 or not multiplies:
        return cdist_forward(x1, x2, float(p))
    batch = broadcast_shapes(one[:-2], two[:-2])
    count = math.prod(batch)
    if count == 1:
        result = euclidean_dist(x1, x2)
    else:
        spread = (tensor_ops.expand(x, (*batch, *x._raw.shape[-2:])) for x in (x1, x2))
        flat = (tensor_ops.view(x.contiguous(), (count, *x._raw.shape[-2:])) for x in spread)
        result = euclidean_dist(*flat)
    return tensor_ops.view(result, (*batch, one[-2], two[-2]))


def _check_distances(x1: Tensor, x2: Tensor, p) -> None:
    for name, x in (("X1", x1), ("X2", x2)):
        if x._raw.ndim < 2:
            raise RuntimeError(
                f"cdist only supports at least 2D tensors, {name} got: {x._raw.ndim}D"
            )
    one, two = x1._raw.shape[-1], x2._raw.shape[-1]
    if one != two:
        raise RuntimeError(f"X1 and X2 must have the same number of columns. X1: {one} X2: {two}")
    for name, x in (("X1", x1), ("X2", x2)):
        if x.dtype.category != FLOATING:
            raise RuntimeError(
                f"cdist only supports floating-point dtypes, {name} got: {x.dtype.legacy}"
            )
    if not p >= 0:
        raise RuntimeError("cdist only supports non-negative p values")


# -- distances within one set of rows -----------------------------------------------------------


@operator(writes=1, node="PdistBackward0", function=False, method=False, batching="fallback")
def pdist_forward(self: Array, p) -> Array:
    if self.shape[0] > 1 and self.shape[1]:
        require_full_precision(self, "pdist")
    return _distances(self, self, p)[np.triu_indices(self.shape[0], 1)]


@operator(node="PdistBackwardBackward0", function=False, method=False, batching="fallback")
def pdist_backward(grad_output: Array, self: Array, p, pdist: Array) -> Array:
    require_full_precision(self, "pdist_backward")
    require_scalar_type(grad_output, self.dtype)
    rows = self.shape[0]
    return _gradient(_square(grad_output, rows), self, self, p, _square(pdist, rows))


def _square(pairs, rows: int) -> np.ndarray:
    """Values of pairs of rows as a symmetric matrix with a zero diagonal."""
    result = np.zeros((rows, rows), pairs.dtype)
    result[np.triu_indices(rows, 1)] = pairs
    return result + result.T


pdist_forward.gradient(
    self=lambda F, grad, self, p, result: F.pdist_backward(grad, self, p, result)
).forward("unsupported", name="_pdist_forward", invited=True)
pdist_backward.gradients("grad_output", "self", "pdist")(of_pdist_backward)
pdist_backward.forward("unsupported", name="_pdist_backward", invited=True)


@function(method=False, batching="composed_fallback")
def pdist(input, p=2):
    """The distances of order `p` of every two rows of a matrix (n, k), as (n * (n - 1) / 2,), in
    the order of an upper triangle (torch.pdist).

    Raises RuntimeError unless the input is a floating 2-D tensor, and for a negative `p`.
    """
    if input._raw.ndim != 2:
        raise RuntimeError(f"pdist only supports 2D tensors, got: {input._raw.ndim}D")
    if input.dtype.category != FLOATING:
        raise RuntimeError("pdist only supports floating-point dtypes")
    if not p >= 0:
        raise RuntimeError("pdist only supports non-negative p values")
    return pdist_forward(input.contiguous(), float(p))
