"""Linear systems and inverses.

The derivatives are those of M. B. Giles, "Collected matrix derivative results" (2008): each is
again a solution of a system with the adjoint matrix.
"""

from __future__ import annotations

import numpy as np

from impl.core.dtypes import int32
from impl.core.meta_arrays import MetaArray
from impl.core.registry import array_ops, tensor_ops
from impl.core.return_types import return_type
from impl.core.sizes import broadcast_shapes
from impl.dispatch import not_implemented
from impl.dispatch.autocast import fp32
from impl.dispatch.definition import Array, function, owned
from impl.dispatch.facts import SavedAs
from impl.dispatch.out import named_out, set_output, stored
from impl.dispatch.vmap_rules import example, hide, padded_example
from impl.operators.linalg import lapack, lu, lu_systems
from impl.operators.linalg.matrices import differentiated

# -- systems ------------------------------------------------------------------------------------


def is_vector(A_shape, B_shape) -> bool:
    return len(B_shape) == 1 or (
        len(A_shape) - 1 == len(B_shape) and tuple(B_shape) == tuple(A_shape[:-1])
    )


def _written_by(args) -> str | None:
    """ATen factorises A, and solves by the factors; of a vector it takes a view, which does not
    require grad."""
    A, B, _ = args
    if A._requires_grad:
        return "linalg_lu_factor_ex"
    return None if is_vector(A._raw.shape, B._raw.shape) else "linalg_lu_solve"


@lapack.factorisation(
    "LinalgSolveExBackward0",
    "result",
    "LU",
    "pivots",
    "info",
    saved_as=SavedAs(parts=()),
    writes=1,
    written_by=_written_by,
)
def linalg_solve_ex(A: Array, B: Array, left) -> tuple:
    vector = is_vector(A.shape, B.shape)
    LU, pivots, infos = lu.factored(A)
    result = lu_systems.solved(LU, pivots, B[..., None] if vector else B, left)
    return lapack.vectors(result[..., 0]) if vector else result, LU, pivots, infos


@linalg_solve_ex.batches
def _solve_of_batch(args, level):
    """A of each example that is row-major is copied, so that all are (BatchRulesLinearAlgebra)."""
    A, B, left = args
    rank, vectors = max(A._raw.ndim, B._raw.ndim), A._raw.ndim > B._raw.ndim
    matrices = padded_example(A, rank, level)
    if example(A, 0, level).is_contiguous() and not A.is_complex():
        matrices = matrices.contiguous()
    right = padded_example(B, rank - vectors, level)
    return hide(linalg_solve_ex(matrices, right, left), level)


def _solved_adjoint(A, LU, pivots, right, left, adjoint):
    # Without recording, the saved factors are used; `adjoint` is the flag for solving with A^H.
    return owned(lu_systems.solved(LU, pivots, right, left, adjoint))


array_ops.solve_adjoint = _solved_adjoint


def _solved_by_tensors(A, LU, pivots, right, left, adjoint):
    return solve(tensor_ops.adjoint_matrix(A), right, left=left)


tensor_ops.solve_adjoint = _solved_by_tensors


@linalg_solve_ex.gradients("A", "B")
def _solve_gradients(F, grad, A, LU, pivots, left, result, needs):
    vector = is_vector(tuple(A.shape), tuple(result.shape))
    if vector:
        grad, result = F.unsqueeze(grad, -1), F.unsqueeze(result, -1)
    to_B, to_A = F.solve_adjoint(A, LU, pivots, grad, left, True), None
    if needs[0]:
        adjoint = F.adjoint_matrix(result)
        to_A = -(F.matrix_product(to_B, adjoint) if left else F.matrix_product(adjoint, to_B))
    if not needs[1]:
        return to_A, None
    return to_A, F.squeeze_dim(to_B, -1) if vector else to_B


def solved_for_tangent(F, A, LU, pivots, right, left=True, turned=False):
    """The solution of a system in a forward formula: recorded as a function of A where that
    requires grad or has a tangent, and otherwise by its factors, or those of its transpose if
    `turned`."""
    if differentiated(A):
        return solve(A, right, left=left)
    return F.linalg_lu_solve(LU, pivots, right, left, turned)


def _solve_tangent(F, A_t, A, B_t, LU, pivots, left, result):
    vector = is_vector(tuple(A.shape), tuple(result.shape))
    if vector:
        B_t, result = F.unsqueeze(B_t, -1), F.unsqueeze(result, -1)
    product = F.matrix_product(A_t, result) if left else F.matrix_product(result, A_t)
    solution = solved_for_tangent(F, A, LU, pivots, B_t - product, left)
    return F.squeeze_dim(solution, -1) if vector else solution


linalg_solve_ex.differentiable("result").forward(result=_solve_tangent)


Solved = return_type("linalg_solve_ex", "result", "info")


@named_out("_linalg_solve_ex", outputs=(0,))
def solve_ex(A, B, *, left=True, check_errors=False, out=None):
    """X with A X = B, or X A = B, for matrices and, by their shape, vectors, with error codes
    (torch.linalg.solve_ex).

    (..., n, n) and (..., n, k) or (..., n); (..., k, n) unless `left`. `info` (int32) is 0, or
    where the first zero stands on the diagonal of the factor U, for which LinAlgError is raised if
    `check_errors`. Raises RuntimeError for other shapes and dtypes.
    """
    _prepare_solution(A, B, left, out)
    result, _, _, infos = linalg_solve_ex(A, B, left)
    if check_errors:
        lapack.check_infos("torch.linalg.solve_ex", infos)
    pair = Solved((result, infos))
    return stored("_linalg_solve_ex", out, pair)


def _prepare_solution(A, B, left: bool, out) -> None:
    """Check the equation, then the solution and the codes of `out=`, and resize these."""
    first, second = A._raw, B._raw
    not_implemented.check_floating("linalg.solve", first)
    if A.dtype is not B.dtype:
        raise RuntimeError(
            f"linalg.solve: Expected A and B to have the same dtype, but found A of type "
            f"{A.dtype.legacy} and B of type {B.dtype.legacy} instead"
        )
    vector = is_vector(first.shape, second.shape)
    right = MetaArray((*second.shape, 1), second.dtype) if vector else second
    lapack.check_equation("linalg.solve", first, right, left)
    if vector and not left:
        raise RuntimeError(
            "linalg.solve: Vector broadcasting of the left hand side is not supported for "
            "left=False. In this case linalg.solve is equivalent to B / A.squeeze(-1)"
        )
    if out is None:
        return
    if vector:
        shape = (*broadcast_shapes(first.shape[:-2], second.shape[:-1]), second.shape[-1])
        strides = lapack.column_major_strides(shape) if len(shape) > 1 else None
        set_output(out[0], shape, first.dtype, strides)
    else:
        lapack.set_solution(out[0], first, second, column_major=left)
    for infos in out[1:]:
        set_output(infos, first.shape[:-2], int32.numpy)


@fp32
@named_out("_linalg_solve_ex", outputs=(0,))
def solve(A, B, *, left=True, out=None):
    """X with A X = B, or X A = B (torch.linalg.solve).

    Shapes and errors as `solve_ex`; raises LinAlgError for a singular matrix.
    """
    if out is not None:
        _prepare_solution(A, B, left, (out,))
    result, infos = solve_ex(A, B, left=left)
    lapack.check_infos("torch.linalg.solve", infos)
    return stored("_linalg_solve_ex", out, result)


# -- inverses -----------------------------------------------------------------------------------


@lapack.factorisation(
    "LinalgInvExBackward0", "inverse", "info", writes=(3, 1), written_by="_linalg_solve_ex"
)
def linalg_inv_ex(A: Array) -> tuple:
    LU, pivots, infos = lu.factored(A)
    identity = np.broadcast_to(np.eye(A.shape[-1], dtype=A.dtype), A.shape)
    return lu_systems.solved(LU, pivots, identity), infos


def _inverse_gradient(F, grad, inverse):
    product = F.matrix_product(grad, F.adjoint_matrix(inverse))
    return -F.matrix_product(F.adjoint_matrix(inverse), product)


linalg_inv_ex.differentiable("inverse").gradient(
    A=lambda F, grad, inverse: _inverse_gradient(F, grad, inverse)
).forward(
    inverse=lambda F, A_t, inverse: -F.matrix_product(F.matrix_product(inverse, A_t), inverse)
)


Inverted = return_type("linalg_inv_ex", "inverse", "info")


def _inverted(A):
    lapack.check_square("linalg.inv", A._raw)
    not_implemented.check_floating("linalg.inv", A._raw, low_precision=False)
    return Inverted(linalg_inv_ex(A))


@fp32
@named_out("linalg_inv_ex", outputs=(0,))
def inv_ex(A, *, check_errors=False, out=None):
    """The inverse of square matrices, with error codes (torch.linalg.inv_ex). `info` and errors as
    `solve_ex`; half precision is refused too."""
    result = _inverted(A)
    if check_errors:
        lapack.check_infos("linalg.inv_ex", result.info)
    return stored("linalg_inv_ex", out, result)


@fp32
@named_out("linalg_inv_ex", outputs=(0,))
def inv(A, *, out=None):
    """The inverse of square matrices (torch.linalg.inv).

    Raises LinAlgError for a singular matrix, RuntimeError as `inv_ex`.
    """
    result, infos = _inverted(A)
    result = stored("linalg_inv_ex", out, result)  # also of a matrix that is refused as singular
    lapack.check_infos("linalg.inv", infos)
    return result


@function()
@fp32
@named_out("linalg_inv_ex", outputs=(0,))
def inverse(input, *, out=None):
    """`inv` by its older name (torch.inverse)."""
    return inv(input, out=out)
