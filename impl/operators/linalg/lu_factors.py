"""LU factors of arrays (LAPACK's getrf): in one matrix or two, and their row exchanges."""

from __future__ import annotations

import numpy as np

from impl.core.strides import unboxed
from impl.operators.linalg import lapack


def factored(A, pivot=True):
    """The triple (LU, pivots, infos): both factors in one matrix each; the row exchanged with each
    row, counted from 1; and the position of the first zero on the diagonal of U (or 0).

    Raises RuntimeError without pivoting, unless there is nothing to factorise.
    """
    *batch, rows, columns = A.shape
    factors = lapack.column_major(A)
    pivots = np.zeros((*batch, min(rows, columns)), np.int32)
    infos = np.zeros(batch, np.int32)
    if factors.size:
        lapack.require_kernel(A, "lu_cpu")
        if not pivot:
            raise RuntimeError(
                "linalg.lu_factor: LU without pivoting is not implemented on the CPU"
            )
        getrf = lapack.lapack("getrf", A.dtype)
        finite = np.isfinite(factors).all((-2, -1))
        for i in np.ndindex(infos.shape):
            routine = getrf if finite[i] else _eliminated
            factors[i], pivots[i], infos[i] = routine(factors[i], True)
    pivots += 1
    return factors, pivots, unboxed(infos)


def _eliminated(matrix, overwrite: bool):
    """`getrf` of a matrix with elements that are not finite, in the order of LAPACK's reference;
    blocked algorithms spread NaN in other ways."""
    steps = min(matrix.shape)
    pivots, info = np.zeros(steps, np.int32), 0
    for step in range(steps):
        pivots[step] = row = step + _place_of_largest(matrix[step:, step])
        matrix[[step, row]] = matrix[[row, step]]
        below = matrix[step + 1 :, step]
        if matrix[step, step] != 0:
            below /= matrix[step, step]
        elif not info:
            info = step + 1
        matrix[step + 1 :, step + 1 :] -= np.outer(below, matrix[step, step + 1 :])
    return matrix, pivots, info


def _place_of_largest(column) -> int:
    """BLAS's amax: nothing is larger than a NaN in the first place, and no other NaN is large."""
    sizes = np.abs(column.real) + np.abs(column.imag)
    return 0 if np.isnan(sizes[0]) else int(np.nanargmax(sizes))


def permutations(pivots, rows: int, dtype):
    """The matrices P of the row exchanges, (..., rows, rows)."""
    *batch, steps = pivots.shape
    if pivots.size and not (pivots.min() >= 1 and pivots.max() <= rows):
        raise RuntimeError(
            "pivots passed to lu_unpack must be between 1 and LU.size(-2) inclusive."
            "Did you properly pass the result of lu_factor?"
        )
    order = np.tile(np.arange(rows), (*batch, 1))
    for step in range(steps):
        other = pivots[..., step : step + 1] - 1
        chosen = np.take_along_axis(order, other, -1)
        np.put_along_axis(order, other, order[..., step : step + 1], -1)
        order[..., step : step + 1] = chosen
    return (np.arange(rows)[:, None] == order[..., None, :]).astype(dtype)


def triangles(LU):
    """The factors L (..., m, k), with ones on the diagonal, and U (..., k, n)."""
    rows, columns = LU.shape[-2:]
    k = min(rows, columns)
    L = np.tril(LU[..., :k], -1)
    L[..., range(k), range(k)] = 1
    return L, np.triu(LU[..., :k, :])
