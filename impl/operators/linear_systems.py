"""Linear systems: solve, inverses, determinants and their logarithms.

The derivatives are those of M. B. Giles, "Collected matrix derivative results" (2008): each is
again a solution of a system with the adjoint matrix.
"""

from __future__ import annotations

import math
import warnings
from collections import namedtuple

import numpy as np
import scipy.linalg

from impl.allocation import ordered_like
from impl.dtypes import BY_NUMPY, FLOATING, REDUCED
from impl.operator import FUNCTIONS, RAW, TAPED, Array, function, operator
from impl.refusals import no_derivative, not_implemented
from impl.tensor import Tensor


class _LinAlgError(RuntimeError):
    """A matrix that cannot be inverted (torch.linalg.LinAlgError)."""


def _column_major(value):
    """The matrices in memory column by column, as LAPACK leaves them."""
    if value.ndim < 2:
        return value
    *batch, rows, columns = value.shape
    return ordered_like(value, np.empty((*batch, columns, rows), value.dtype).swapaxes(-1, -2))


def _check(name: str, A: Tensor) -> None:
    """Raise RuntimeError unless these are square matrices of a floating type LAPACK knows."""
    shape = A._raw.shape
    if len(shape) < 2:
        raise RuntimeError(f"{name}: The input tensor A must have at least 2 dimensions.")
    if shape[-1] != shape[-2]:
        raise RuntimeError(
            f"{name}: A must be batches of square matrices, but they are {shape[-2]} by "
            f"{shape[-1]} matrices"
        )
    if A.dtype.category < FLOATING:
        raise RuntimeError(
            f"{name}: Expected a floating point or complex tensor as input. Got {A.dtype.legacy}"
        )
    if A._raw.dtype in REDUCED:
        if name in ("linalg.det", "linalg.solve"):
            raise not_implemented("lu_cpu", A.dtype)
        raise RuntimeError(f"{name}: Low precision dtypes not supported. Got {A.dtype.legacy}")


def _first_singular(A) -> tuple[int, int]:
    """Which matrix is the first whose factor U has a zero on its diagonal, and where (from 1)."""
    for number, matrix in enumerate(A.reshape(-1, *A.shape[-2:])):
        zeros = np.flatnonzero(np.diagonal(_factors(matrix)[0]) == 0)
        if zeros.size:
            return number, int(zeros[0]) + 1
    return 0, 0


def _factors(matrix):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", scipy.linalg.LinAlgWarning)
        return scipy.linalg.lu_factor(matrix, check_finite=False)


def _solved(A, right, smallest=0, adjoint: bool = False):
    """X with A X = right (or A^H X), from the factors where A is singular: zeros on their diagonal
    count as `smallest`, so that what comes out need not be finite."""
    try:
        return _column_major(np.linalg.solve(RAW.adjoint_matrix(A) if adjoint else A, right))
    except np.linalg.LinAlgError:
        shape = np.broadcast_shapes(A.shape[:-2], right.shape[:-2])
        A = np.broadcast_to(A, (*shape, *A.shape[-2:]))
        result = np.array(np.broadcast_to(right, (*shape, *right.shape[-2:])))
        for index in np.ndindex(shape):
            factors, pivots = _factors(A[index])
            place = np.flatnonzero(np.diagonal(factors) == 0)
            factors[place, place] = smallest
            result[index] = scipy.linalg.lu_solve(
                (factors, pivots), result[index], trans=2 if adjoint else 0, check_finite=False
            )
        return _column_major(result)


# Formulas compute with the conjugate transpose and with products over batches.
RAW.adjoint_matrix = lambda value: np.conj(value).swapaxes(-1, -2)
RAW.matrix_product = np.matmul


def _adjoint(value: Tensor) -> Tensor:
    turned = TAPED.transpose(value, -2, -1)
    return turned.conj() if value.is_complex() else turned


TAPED.adjoint_matrix = _adjoint
TAPED.matrix_product = lambda left, right: FUNCTIONS["matmul"](left, right)

# -- systems ------------------------------------------------------------------------------------


def _is_vector(A_shape, B_shape) -> bool:
    return len(B_shape) == 1 or (
        len(A_shape) - 1 == len(B_shape) and tuple(B_shape) == tuple(A_shape[:-1])
    )


@operator(node="LinalgSolveExBackward0", function=False, method=False, fresh=True)
def linalg_solve_ex(A: Array, B: Array) -> Array:
    vector = _is_vector(A.shape, B.shape)
    try:
        result = np.linalg.solve(A, B[..., None] if vector else B)
    except np.linalg.LinAlgError:
        number, _ = _first_singular(A)
        which = f"(Batch element {number}): " if A.ndim > 2 else ""
        raise _LinAlgError(
            f"torch.linalg.solve: {which}The solver failed because the input matrix is singular."
        ) from None
    return _column_major(result[..., 0] if vector else result)


@linalg_solve_ex.gradients("A", "B")
def _solve_gradients(F, grad, A, B_shape, result, needs):
    vector = _is_vector(tuple(A.shape), tuple(B_shape))
    if vector:
        grad, result = F.unsqueeze(grad, -1), F.unsqueeze(result, -1)
    to_b = F.linalg_solve_ex(F.adjoint_matrix(A), grad)
    to_a = -F.matrix_product(to_b, F.adjoint_matrix(result)) if needs[0] else None
    if not needs[1]:
        return to_a, None
    return to_a, F.squeeze_dim(to_b, -1) if vector else to_b


@operator(node="LinalgLuSolveBackward0", function=False, method=False, fresh=True)
def linalg_lu_solve(LU: Array, B: Array, smallest) -> Array:
    """`linalg_solve_ex` with a matrix that has been factorised: here, the matrix itself."""
    return _solved(LU, B, smallest)


linalg_lu_solve.gradient(
    LU=no_derivative("linalg_lu_solve"),
    B=lambda F, grad, LU, smallest: F.solve_adjoint(LU, grad, smallest),
)


def _solve_tangent(F, A_t, A, B_t, result):
    if not _is_vector(tuple(A.shape), tuple(B_t.shape)):
        return F.linalg_lu_solve(A.detach(), B_t - F.matrix_product(A_t, result), 0)
    right = F.unsqueeze(B_t, -1) - F.matrix_product(A_t, F.unsqueeze(result, -1))
    return F.squeeze_dim(F.linalg_lu_solve(A.detach(), right, 0), -1)


linalg_solve_ex.forward(_solve_tangent)


def solve(A, B, *, left=True):
    """X with A @ X = B, for matrices and, if their shape says so, vectors (torch.linalg.solve).

    (..., n, n) and (..., n, k) or (..., n). Raises LinAlgError for a singular matrix, RuntimeError
    for other shapes and dtypes, NotImplementedError for `left=False`.
    """
    if not left:
        raise NotImplementedError("linalg.solve with left=False")
    _check("linalg.solve", A)
    if A.dtype is not B.dtype:
        raise RuntimeError(
            f"linalg.solve: Expected A and B to have the same dtype, but found A of type "
            f"{A.dtype.legacy} and B of type {B.dtype.legacy} instead"
        )
    rows, given = A._raw.shape[-1], B._raw.shape
    vector = _is_vector(A._raw.shape, given)
    size = (given[-1], 1) if vector else given[-2:]
    if size[0] != rows:
        raise RuntimeError(
            "linalg.solve: Incompatible shapes of A and B for the equation AX = B "
            f"({rows}x{rows} and {size[0]}x{size[1]})"
        )
    return linalg_solve_ex(A, B)


@operator(node="LinalgInvExBackward0", function=False, method=False, fresh=True)
def linalg_inv_ex(A: Array) -> Array:
    try:
        return _column_major(np.linalg.inv(A))
    except np.linalg.LinAlgError:
        number, place = _first_singular(A)
        which = f"(Batch element {number}): " if A.ndim > 2 else ""
        raise _LinAlgError(
            f"linalg.inv: {which}The diagonal element {place} is zero, the inversion could not be "
            "completed because the input matrix is singular."
        ) from None


def _inverse_gradient(F, grad, result):
    adjoint = F.adjoint_matrix(result)
    return -F.matrix_product(adjoint, F.matrix_product(grad, adjoint))


linalg_inv_ex.gradient(A=lambda F, grad, result: _inverse_gradient(F, grad, result))
linalg_inv_ex.forward(
    lambda F, A_t, result: -F.matrix_product(F.matrix_product(result, A_t), result)
)


@function("inverse")
def inv(A):
    """The inverse of square matrices (torch.linalg.inv). Errors as `solve`."""
    _check("linalg.inv", A)
    return linalg_inv_ex(A)


# -- determinants -------------------------------------------------------------------------------


def _spread(F, value, A):
    """(..., n, n) with the numbers of (...) all along the diagonals."""
    shape = tuple(A.shape)
    rows = F.expand(F.unsqueeze(value, -1), shape[:-1])
    return F.transpose(F.diag_embed(rows), -2, -1)


RAW.solve_adjoint = lambda A, right, smallest=0: _solved(A, right, smallest, adjoint=True)
TAPED.solve_adjoint = lambda A, right, smallest=0: linalg_solve_ex(_adjoint(A), right)


def _trace_of_solution(F, A, A_t, smallest=0):
    return F.linalg_lu_solve(A.detach(), A_t, smallest).diagonal(0, -2, -1).sum(-1)


def _smallest(F, A):
    """What a zero on the diagonal counts as, where a determinant is differentiated."""
    return np.finfo(F.dtype_of(A)).eps


@operator(node="LinalgDetBackward0", function=False, method=False)
def linalg_det(A: Array) -> Array:
    return np.linalg.det(A).astype(A.dtype)


linalg_det.gradient(
    A=lambda F, grad, A, result_conj: F.solve_adjoint(
        A, _spread(F, grad * result_conj, A), _smallest(F, A)
    )
)
linalg_det.forward(
    lambda F, A_t, A, result: _trace_of_solution(F, A, A_t, _smallest(F, A)) * result
)


@function("det")
def det(A):
    """The determinant of square matrices (torch.linalg.det). Raises RuntimeError for others."""
    _check("linalg.det", A)
    return linalg_det(A)


SlogDet = namedtuple("SlogDet", ("sign", "logabsdet"))


@operator(
    node="LinalgSlogdetBackward0", outputs=("sign", "logabsdet"), function=False, method=False
)
def linalg_slogdet(A: Array) -> tuple:
    sign, logabsdet = np.linalg.slogdet(A)
    real = np.dtype(A.dtype.char.lower()) if A.dtype.kind == "c" else A.dtype
    return np.asarray(sign).astype(A.dtype), np.asarray(logabsdet).astype(real)


@linalg_slogdet.gradients("A")
def _slogdet_gradient(F, grads, A, sign):
    _, of_logabsdet = grads
    if BY_NUMPY[F.dtype_of(A)].is_complex:
        raise NotImplementedError("the derivative of slogdet of a complex matrix")
    if of_logabsdet is None:
        return F.zeros_like(A)
    return F.solve_adjoint(A, _spread(F, of_logabsdet, A))


def _logabsdet_tangent(F, A_t, A):
    trace = _trace_of_solution(F, A, A_t)
    return FUNCTIONS["real"](trace) if trace.is_complex() else trace


linalg_slogdet.forward(logabsdet=_logabsdet_tangent)


@function("slogdet")
def slogdet(A):
    """Sign and logarithm of the magnitude of the determinant (torch.linalg.slogdet).

    Raises RuntimeError unless the matrices are square.
    """
    _check("linalg.slogdet", A)
    return SlogDet(*linalg_slogdet(A))


@function("logdet")
def logdet(A):
    """The logarithm of the determinant, NaN where it is negative (torch.logdet)."""
    sign, logabsdet = slogdet(A)
    return FUNCTIONS["where"](sign == -1, math.nan, logabsdet)
