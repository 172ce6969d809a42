"""Triangular systems: linalg.solve_triangular and the older triangular_solve.

With X = A^-1 B the cotangent of B is A^-H grad, and that of A is the triangle of
-(A^-H grad) X^H that the operator reads (derivatives.yaml, linalg_solve_triangular).
"""

from __future__ import annotations

import numpy as np

from impl.core import messages
from impl.core.dtypes import BY_NUMPY
from impl.core.registry import tensor_ops
from impl.core.return_types import return_type
from impl.core.warning import warn_after_pass, warn_once
from impl.dispatch.definition import Array, function, written
from impl.dispatch.out import check_same, fit, named_out, stored
from impl.kernels.casting import converted, discards
from impl.operators.linalg import lapack


def solved(A, B, upper: bool, left: bool = True, unitriangular: bool = False, turned: int = 0):
    """X with op(A) X = B, or X op(A) = B, for a batch of triangular matrices, column-major.

    op(A) is A for `turned` 0, its transpose for 1, its adjoint for 2. A zero on the diagonal
    divides.
    """
    A, B = lapack.broadcast_batches(A, B)
    lapack.require_kernel(B, "triangular_solve_cpu")
    result = lapack.column_major(B)
    if result.size:
        trsm = lapack.blas("trsm", B.dtype)
        side, lower, unit = int(not left), int(not upper), int(unitriangular)
        for i in np.ndindex(B.shape[:-2]):
            result[i] = trsm(1, A[i], result[i], side, lower, turned, unit, True)
    return result


@lapack.factorisation("LinalgSolveTriangularBackward0")
def linalg_solve_triangular(
    self: Array, B: Array, upper, left, unitriangular, row_major=False
) -> Array:
    result = solved(self, converted(B, self.dtype), upper, left, unitriangular)
    return np.ascontiguousarray(result) if row_major else result


def solution(F, A, B, upper: bool, left: bool = True, unitriangular: bool = False):
    """X with A X = B, or X A = B: column-major, but row-major for a lazy adjoint A of B's batch,
    which torch passes on without a copy."""
    row_major = F.is_lazy_adjoint(A) and A.shape[:-2] == B.shape[:-2]
    return F.linalg_solve_triangular(A, B, upper, left, unitriangular, row_major)


def triangle(F, value, upper: bool, unitriangular: bool):
    """The triangle of a matrix that a solver reads, zeros elsewhere."""
    return F.triu(value, int(unitriangular)) if upper else F.tril(value, -int(unitriangular))


@linalg_solve_triangular.gradients("self", "B")
def _gradients(F, grad, self, result, upper, left, unitriangular, needs):
    if F.is_complex(grad) and not F.is_complex(self):  # a saved tensor that a hook has changed
        warn_after_pass(messages.DISCARDED, once=messages.DISCARDED)
    to_B = solution(F, F.adjoint_matrix(self), grad, not upper, left, unitriangular)
    if not needs[0]:
        return None, to_B
    adjoint = F.adjoint_matrix(result)
    to_A = F.matrix_product(to_B, adjoint) if left else F.matrix_product(adjoint, to_B)
    return triangle(F, -to_A, upper, unitriangular), to_B if needs[1] else None


@linalg_solve_triangular.forward
def _tangent(F, self_t, self, B_t, result, upper, left, unitriangular):
    A_t = triangle(F, self_t, upper, unitriangular)
    product = F.matrix_product(A_t, result) if left else F.matrix_product(result, A_t)
    return solution(F, self, B_t - product, upper, left, unitriangular)


@named_out("linalg_solve_triangular")
def solve_triangular(input, B, *, upper, left=True, unitriangular=False, out=None):
    """X with A X = B, or X A = B, for triangular A (torch.linalg.solve_triangular).

    A (..., n, n), B (..., n, k) or (..., k, n); the batches broadcast. Only the upper or the lower
    triangle of A is read, without the diagonal if `unitriangular`. A zero on the diagonal divides.
    Raises RuntimeError for other shapes, NotImplementedError for integers and half precision; B is
    cast to the dtype of A.
    """
    lapack.check_equation("linalg.solve_triangular", input._raw, B._raw, left)
    if out is not None:
        shape = lapack.solution_shape(input._raw, B._raw)
        fit(out, shape, lapack.column_major_strides(shape))
    if discards(B._raw.dtype, (input if out is None else out)._raw.dtype):
        warn_once(messages.DISCARDED)
    if out is not None:
        if B._raw.size:
            lapack.require_kernel(np.empty(1, input._raw.dtype), "triangular_solve_cpu")
        check_same("expected scalar type {0.legacy} but found {1.legacy}", out, input.dtype)
    result = solution(tensor_ops, input, B, upper, left, unitriangular)
    return stored("linalg_solve_triangular", out, result)


# -- triangular_solve -----------------------------------------------------------------------------


Solution = return_type("triangular_solve", "solution", "cloned_coefficient")


@lapack.factorisation(
    "TriangularSolveBackward0", "solution", "cloned_coefficient", autocast="fp32", writes=1
)
def triangular_solve_pair(self: Array, A: Array, upper, transpose, unitriangular) -> tuple:
    coefficient, right = lapack.broadcast_batches(A, self)
    solution = solved(coefficient, right, upper, True, unitriangular, int(transpose))
    return solution, lapack.column_major(coefficient)


@triangular_solve_pair.gradients("self", "A")
def _pair_gradients(F, grads, self, A, solution, upper, transpose, unitriangular, needs):
    grad, of_copy = grads
    to_b = to_A = None
    if grad is not None:
        warn_once(_DEPRECATED)  # as ATen's backward does
        to_b, _ = F.triangular_solve_pair(grad, F.conj(A), upper, not transpose, unitriangular)
        if needs[1]:
            if transpose:
                to_A = F.matrix_product(F.conj(solution), F.transpose(to_b, -2, -1))
            else:
                to_A = F.matrix_product(to_b, F.adjoint_matrix(solution))
            to_A = triangle(F, -to_A, upper, unitriangular)
    if needs[0] and to_b is None:
        to_b = F.expand(F.new_zeros(of_copy, (1,)), tuple(self.shape))
    if needs[1]:
        if to_A is None:
            to_A = F.zeros_like(A)
        if of_copy is not None:
            to_A = to_A + of_copy
    return to_b, to_A


# Zeros, which ATen counts as a write, without a gradient of the solution.
written(_pair_gradients, {"self": lambda arrived, made: not arrived[0], "A": 0})


def _solution_tangent(F, self_t, A_t, A, solution, upper, transpose, unitriangular):
    # The complete tangent, as in torch, although only a triangle of A is read.
    right = self_t - F.matrix_product(A_t, solution)
    return F.triangular_solve_pair(right, A, upper, transpose, unitriangular)[0]


triangular_solve_pair.forward(
    solution=_solution_tangent, cloned_coefficient=lambda F, A_t: A_t.clone()
)


@function()
@named_out("triangular_solve")
def triangular_solve(input, A, upper=True, transpose=False, unitriangular=False, *, out=None):
    """X with A X = input for triangular A, and a copy of A (torch.triangular_solve).

    input (..., n, k), A (..., n, n); the batches broadcast. With `transpose`, A^T X = input. Warns
    that it is deprecated. Raises RuntimeError for other shapes and dtypes that differ.
    """
    for name, given in (("b", input), ("A", A)):
        if given._raw.ndim < 2:
            raise RuntimeError(
                f"torch.triangular_solve: Expected {name} to have at least 2 dimensions, but it "
                f"has {given._raw.ndim} dimensions instead"
            )
    check_together("triangular_solve", input._raw, A._raw)
    if out is not None:
        lapack.set_solution(out[0], A._raw, input._raw)
        lapack.set_solution(out[1], input._raw, A._raw)  # A, broadcast
        warn_once(_DEPRECATED)
    result = Solution(triangular_solve_pair(input, A, upper, transpose, unitriangular))
    if out is None:
        warn_once(_DEPRECATED)
    return stored("triangular_solve", out, result)


def check_together(name: str, right, A) -> None:
    """Raise RuntimeError as torch's older solvers do: dtypes that differ, sizes that do not fit."""
    if right.dtype != A.dtype:
        raise RuntimeError(
            "Expected b and A to have the same dtype, but found b of type "
            f"{BY_NUMPY[right.dtype].legacy} and A of type {BY_NUMPY[A.dtype].legacy} instead."
        )
    if A.shape[-2] != A.shape[-1]:
        raise RuntimeError(
            f"A must be batches of square matrices, but they are {A.shape[-2]} by {A.shape[-1]} "
            "matrices"
        )
    if A.shape[-1] != right.shape[-2]:
        raise RuntimeError(
            f"Incompatible matrix sizes for {name}: each A matrix is {A.shape[-1]} by "
            f"{A.shape[-1]} but each b matrix is {right.shape[-2]} by {right.shape[-1]}"
        )


_DEPRECATED = (
    "torch.triangular_solve is deprecated in favor of torch.linalg.solve_triangular"
    "and will be removed in a future PyTorch release.\n"
    "torch.linalg.solve_triangular has its arguments reversed and does not return a copy of one of "
    "the inputs.\n"
    "X = torch.triangular_solve(B, A).solution\n"
    "should be replaced with\n"
    "X = torch.linalg.solve_triangular(A, B)."
)
