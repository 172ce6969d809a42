"""Solutions of linear systems from LU factors: lu_solve.

With X = A^-1 B the cotangent of B is A^-H grad, and that of the factors follows from that of A
(derivatives.yaml, linalg_lu_solve).
"""

from __future__ import annotations

import numpy as np

from impl.core.dtypes import BY_NUMPY
from impl.core.warning import warn_once
from impl.dispatch import not_implemented
from impl.dispatch.autocast import fp32
from impl.dispatch.definition import Array, function
from impl.dispatch.out import named_out, refusing_gradients, stored
from impl.operators.linalg import lapack
from impl.operators.linalg.matrices import adjoint_matrix
from impl.operators.linalg.triangular_systems import solution


def check_dtypes(LU, pivots, B) -> None:
    """Raise RuntimeError for arrays of factors and of a right side of different dtypes, and for
    pivots that are no 32-bit integers."""
    if LU.dtype != B.dtype:
        raise RuntimeError(
            "linalg.lu_solve: Expected LU and B to have the same dtype, but found LU of type "
            f"{BY_NUMPY[LU.dtype].legacy} and B of type {BY_NUMPY[B.dtype].legacy} instead"
        )
    if pivots.dtype != np.int32:
        raise RuntimeError("linalg.lu_solve: pivots should be a Tensor of scalar type torch.int32")


def _check_pivots(LU, pivots) -> None:
    for is_wrong, bound in (
        (pivots < 1, "greater or equal to 1"),
        (pivots > LU.shape[-2], "smaller or equal to LU.size(-2)"),
    ):
        if is_wrong.any():
            raise RuntimeError(
                f"Pivots given to lu_solve must all be {bound}. Did you properly pass the result "
                "of lu_factor?"
            )


def solved(LU, pivots, B, left: bool = True, adjoint: bool = False):
    """X with A X = B (column-major) or X A = B (row-major) from the factors of A, or of its
    adjoint.

    Raises RuntimeError for dtypes that differ, and pivots that are no rows.
    """
    check_dtypes(LU, pivots, B)
    if B.size:
        _check_pivots(LU, pivots)
    if not left:
        return adjoint_matrix(solved(LU, pivots, adjoint_matrix(B), True, not adjoint))

    def solve(LU, pivots, B):
        return lapack.lapack("getrs", B.dtype)(LU, pivots - 1, B, 2 if adjoint else 0, True)

    return lapack.solved(solve, LU, pivots, B, "linalg.lu_solve_cpu")


@lapack.factorisation("LinalgLuSolveBackward0")
def linalg_lu_solve(LU: Array, pivots: Array, B: Array, left, adjoint) -> Array:
    return solved(LU, pivots, B, left, adjoint)


def _factors_gradient(F, grad, LU, pivots, result, left, adjoint):
    P, L, U = F.lu_unpack_all(LU, pivots, True, left == adjoint)
    if left != adjoint:
        of_X = grad if left else F.adjoint_matrix(grad)
        product = -F.matrix_product(of_X, F.adjoint_matrix(result) if left else result)
        upper = solution(F, F.adjoint_matrix(U), product, False)
        product = F.matrix_product(upper, F.adjoint_matrix(U))
        lower = solution(F, F.adjoint_matrix(L), product, True, True, True)
        return F.tril(lower, -1) + F.triu(upper, 0)
    X = result if left else F.adjoint_matrix(result)
    product = F.matrix_product(F.transpose(P, -2, -1), X)
    product = F.matrix_product(product, F.adjoint_matrix(grad) if left else grad)
    product = -F.matrix_product(product, P)
    lower = solution(F, F.adjoint_matrix(L), product, True, False, True)
    product = F.matrix_product(F.adjoint_matrix(L), lower)
    upper = solution(F, F.adjoint_matrix(U), product, False, False)
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
    LU=_factors_gradient,
    B=lambda F, grad, LU, pivots, left, adjoint: F.linalg_lu_solve(
        LU, pivots, grad, left, not adjoint
    ),
)
linalg_lu_solve.forward(_solve_tangent)


@named_out("linalg_lu_solve")
def lu_solve(LU, pivots, B, *, left=True, adjoint=False, out=None):
    """X with A X = B, or X A = B, from the factors of A, or with its adjoint
    (torch.linalg.lu_solve).

    LU (..., n, n) and pivots (..., n) as `lu_factor` gives them, B (..., n, k) or (..., k, n); the
    batches broadcast. Raises RuntimeError for other shapes and dtypes.
    """
    not_implemented.refuse_gradient("linalg_lu_solve", "pivots", pivots, (LU, pivots, B))
    factors, right = LU._raw, B._raw
    not_implemented.check_floating("torch.linalg.lu_solve", factors)
    check_dtypes(factors, pivots._raw, right)
    lapack.check_square("torch.linalg.lu_solve", factors)
    lapack.check_equation("linalg.lu_solve", factors, right, left)
    given = pivots._raw.shape
    if not given:
        raise IndexError("Dimension specified as -1 but tensor has no dimensions")
    if given[-1] != factors.shape[-1]:
        raise RuntimeError(
            "linalg.lu_solve: Number of pivots per batch should be same as the dimension of the "
            "matrix"
        )
    if given != factors.shape[:-1]:
        raise RuntimeError(
            "linalg.lu_solve: Expected LU.shape[:-1] and pivots.shape to be the same, but got "
            f"pivots with shape {[*given]} instead"
        )
    if out is not None:
        lapack.set_solution(out, factors, right, column_major=left)
    result = linalg_lu_solve(LU, pivots, B, left, adjoint)
    return stored("linalg_lu_solve", out, result)


@function("lu_solve", batching="composed_fallback")
@fp32
def solve_packed(input, LU_data, LU_pivots, *, out=None):
    """`lu_solve` with its arguments in another order (torch.lu_solve). Warns that it is
    deprecated."""
    site = "lu_solve" if out is None else "lu_solve.out"
    warn_once(_DEPRECATED, site=site)
    return refusing_gradients(lu_solve)(LU_data, LU_pivots, input, out=out)


_DEPRECATED = (
    "torch.lu_solve is deprecated in favor of torch.linalg.lu_solve"
    "and will be removed in a future PyTorch release.\n"
    "Note that torch.linalg.lu_solve has its arguments reversed.\n"
    "X = torch.lu_solve(B, LU, pivots)\n"
    "should be replaced with\n"
    "X = torch.linalg.lu_solve(LU, pivots, B)"
)
