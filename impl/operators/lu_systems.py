"""Solutions of linear systems from LU factors: lu_solve.

With X = A^-1 B the cotangent of B is A^-H grad, and that of the factors follows from that of A
(derivatives.yaml, linalg_lu_solve).
"""

from __future__ import annotations

import warnings

import numpy as np

from impl.operator import Array, function, operator
from impl.operators import lapack
from impl.operators.triangular_systems import solution


def solved(LU, pivots, B, left: bool = True, adjoint: bool = False):
    """X with A X = B (column by column), or X A = B (row by row), from the factors of A, or with
    its adjoint."""
    if not left:
        return lapack.adjoint_matrix(
            solved(LU, pivots, lapack.adjoint_matrix(B), True, not adjoint)
        )
    batch = LU.shape[:-2]
    LU, B = lapack.broadcast_batches(LU, B)
    result = lapack.column_major(B)
    if result.size:
        if LU.shape[:-2] != batch:
            pivots = np.broadcast_to(pivots, LU.shape[:-1])
        getrs = lapack.lapack("getrs", B.dtype)
        for i in np.ndindex(B.shape[:-2]):
            result[i], _ = getrs(LU[i], pivots[i] - 1, result[i], 2 if adjoint else 0, True)
    return result


@operator(node="LinalgLuSolveBackward0", function=False, method=False, fresh=True)
def linalg_lu_solve(LU: Array, pivots: Array, B: Array, left, adjoint) -> Array:
    return solved(LU, pivots, B, left, adjoint)


def _factors_gradient(F, grad, LU, pivots, result, left, adjoint):
    P, L, U = F.lu_unpack_all(LU, pivots, True, left == adjoint)
    adjoint_L, adjoint_U = F.adjoint_matrix(L), F.adjoint_matrix(U)
    of_X, X = (grad, result) if left else (F.adjoint_matrix(grad), F.adjoint_matrix(result))
    if left != adjoint:
        product = -F.matrix_product(of_X, F.adjoint_matrix(X))
        upper = solution(F, adjoint_U, product, False)
        lower = solution(F, adjoint_L, F.matrix_product(upper, adjoint_U), True, True, True)
        return F.tril(lower, -1) + F.triu(upper, 0)
    product = F.matrix_product(-F.transpose(P, -2, -1), F.matrix_product(X, F.adjoint_matrix(of_X)))
    lower = solution(F, adjoint_L, F.matrix_product(product, P), True, False, True)
    upper = solution(F, adjoint_U, F.matrix_product(adjoint_L, lower), False, False)
    return F.tril(lower, -1) + F.triu(upper, 0)


def _solve_tangent(F, LU_t, LU, pivots, B_t, result, left, adjoint):
    P, L, U = F.lu_unpack_all(LU, pivots, True, True)
    L_t, U_t = F.tril(LU_t, -1), F.triu(LU_t, 0)
    A_t = F.matrix_product(P, F.matrix_product(L_t, U) + F.matrix_product(L, U_t))
    if adjoint:
        A_t = F.adjoint_matrix(A_t)
    product = F.matrix_product(A_t, result) if left else F.matrix_product(result, A_t)
    return F.linalg_lu_solve(LU, pivots, B_t - product, left, adjoint)


linalg_lu_solve.gradient(
    LU=lambda F, grad, LU, pivots, result, left, adjoint: _factors_gradient(
        F, grad, LU, pivots, result, left, adjoint
    ),
    B=lambda F, grad, LU, pivots, left, adjoint: F.linalg_lu_solve(
        LU, pivots, grad, left, not adjoint
    ),
)
linalg_lu_solve.forward(_solve_tangent)


def lu_solve(LU, pivots, B, *, left=True, adjoint=False, out=None):
    """X with A X = B, or X A = B, from the factors of A, or with its adjoint
    (torch.linalg.lu_solve).

    LU (..., n, n) and pivots (..., n) as `lu_factor` gives them, B (..., n, k) or (..., k, n); the
    batches broadcast. Raises RuntimeError for other shapes and dtypes.
    """
    factors, right = LU._raw, B._raw
    lapack.check_floating("torch.linalg.lu_solve", factors)
    if factors.dtype != right.dtype:
        raise RuntimeError(
            "linalg.lu_solve: Expected LU and B to have the same dtype, but found LU of type "
            f"{LU.dtype.legacy} and B of type {B.dtype.legacy} instead"
        )
    if pivots._raw.dtype != np.int32:
        raise RuntimeError("linalg.lu_solve: pivots should be a Tensor of scalar type torch.int32")
    lapack.check_square("torch.linalg.lu_solve", factors)
    lapack.check_equation("linalg.lu_solve", factors, right, left)
    given = pivots._raw.shape
    if not given or given[-1] != factors.shape[-1]:
        raise RuntimeError(
            "linalg.lu_solve: Number of pivots per batch should be same as the dimension of the "
            "matrix"
        )
    if given != factors.shape[:-1]:
        raise RuntimeError(
            "linalg.lu_solve: Expected LU.shape[:-1] and pivots.shape to be the same, but got "
            f"pivots with shape {[*given]} instead"
        )
    result = linalg_lu_solve(LU, pivots, B, left, adjoint)
    return result if out is None else lapack.store("linalg_lu_solve", out, result)


@function("lu_solve")
def solve_packed(input, LU_data, LU_pivots, *, out=None):
    """`lu_solve` with its arguments in another order (torch.lu_solve). Warns that it is
    deprecated."""
    warnings.warn(_DEPRECATED, UserWarning, stacklevel=2)
    result = lu_solve(LU_data, LU_pivots, input)
    return result if out is None else lapack.store("lu_solve", out, result)


_DEPRECATED = (
    "torch.lu_solve is deprecated in favor of torch.linalg.lu_solve"
    "and will be removed in a future PyTorch release.\n"
    "Note that torch.linalg.lu_solve has its arguments reversed.\n"
    "X = torch.lu_solve(B, LU, pivots)\n"
    "should be replaced with\n"
    "X = torch.linalg.lu_solve(LU, pivots, B)"
)
