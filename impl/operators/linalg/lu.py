"""LU factors A = P L U with row exchanges.

From L^-1 P^T dA U^-1 = L^-1 dL + dU U^-1, whose terms are the two triangles, follow tangents and
cotangents; where A is not square, the remaining rows or columns follow from a triangular system
(derivatives.yaml, linalg_lu and linalg_lu_factor_ex).
"""

from __future__ import annotations

import numpy as np

from impl.core.dims import existing_dim
from impl.core.dtypes import int32
from impl.core.return_types import return_type
from impl.core.state import STATE
from impl.core.warning import warn_once
from impl.dispatch.autocast import fp32
from impl.dispatch.definition import Array, function, native, operator
from impl.dispatch.facts import SavedAs
from impl.dispatch.out import named_out, set_output, stored
from impl.operators.linalg import lapack
from impl.operators.linalg.lu_factors import factored, permutations, triangles
from impl.operators.linalg.triangular_systems import solution
from impl.tensor.tensor import requires_grad

# -- linalg.lu --------------------------------------------------------------------------------


def _writes_of_parts(args) -> tuple[int, int, int]:
    """The factor that is not square is written once more."""
    rows, columns = args[0]._raw.shape[-2:]
    return 1, 1 + (rows > columns), 1 + (rows <= columns)


@operator(
    node="LinalgLuBackward0",
    outputs=("P", "L", "U"),
    function=False,
    method=False,
    writes=_writes_of_parts,
    written_by="linalg_lu_factor_ex",
    batching="fallback",
)
def linalg_lu_plu(A: Array, pivot) -> tuple:
    LU, pivots, _ = factored(A, pivot)
    P = permutations(pivots, A.shape[-2], A.dtype) if pivot else np.empty(0, A.dtype)
    return P, *triangles(LU)


def _backward(F, of_L, of_U, P, L, U, pivot):
    rows, columns = L.shape[-2], U.shape[-1]
    k = min(rows, columns)
    if rows == columns:
        grad = None
        if of_L is not None:
            grad = F.tril(F.matrix_product(F.adjoint_matrix(L), of_L), -1)
        if of_U is not None:
            upper = F.triu(F.matrix_product(of_U, F.adjoint_matrix(U)), 0)
            grad = upper if grad is None else grad + upper
        grad = solution(F, F.adjoint_matrix(U), grad, False, False)
        grad = solution(F, F.adjoint_matrix(L), grad, True, True, True)
    elif rows < columns:
        grad = _backward_wide(F, of_L, of_U, L, U, k)
    else:
        grad = _backward_tall(F, of_L, of_U, L, U, k)
    return F.matrix_product(P, grad) if pivot else grad


def _backward_wide(F, of_L, of_U, L, U, k):
    """The gradient of A = L (U1 | U2); U2 depends on A only through L^-1."""
    rest = U.shape[-1] - k
    grad = None if of_L is None else F.matrix_product(F.adjoint_matrix(L), of_L)
    if of_U is not None:
        upper = F.matrix_product(F.triu(of_U, 0), F.adjoint_matrix(U))
        grad = -upper if grad is None else grad - upper
    grad = F.tril(grad, -1)
    grad = solution(F, F.adjoint_matrix(F.narrow(U, -1, 0, k)), grad, False, False)
    if of_U is None:
        beyond = F.new_zeros(grad, (*grad.shape[:-1], rest))
    else:
        grad = grad + F.triu(F.narrow(of_U, -1, 0, k), 0)
        beyond = F.narrow(of_U, -1, k, rest)
    return solution(F, F.adjoint_matrix(L), F.cat([grad, beyond], -1), True, True, True)


def _backward_tall(F, of_L, of_U, L, U, k):
    """The gradient of A = (L1 | L2) U with L2 below L1; L2 depends on A only through U^-1."""
    rest = L.shape[-2] - k
    grad = None if of_U is None else F.matrix_product(of_U, F.adjoint_matrix(U))
    if of_L is not None:
        lower = F.matrix_product(F.adjoint_matrix(L), F.tril(of_L, -1))
        grad = -lower if grad is None else grad - lower
    grad = F.triu(grad, 0)
    grad = solution(F, F.adjoint_matrix(F.narrow(L, -2, 0, k)), grad, True, True, True)
    if of_L is None:
        beyond = F.new_zeros(grad, (*grad.shape[:-2], rest, k))
    else:
        grad = grad + F.tril(F.narrow(of_L, -2, 0, k), -1)
        beyond = F.narrow(of_L, -2, k, rest)
    return solution(F, F.adjoint_matrix(U), F.cat([grad, beyond], -2), False, False)


def _tangents(F, tangent, P, L, U, pivot):
    rows, columns = L.shape[-2], U.shape[-1]
    k = min(rows, columns)
    turned = F.matrix_product(F.transpose(P, -2, -1), tangent) if pivot else tangent
    first_L, first_U = F.narrow(L, -2, 0, k), F.narrow(U, -1, 0, k)
    square = F.narrow(F.narrow(turned, -2, 0, k), -1, 0, k)
    inner = solution(F, first_L, square, False, True, True)
    inner = solution(F, first_U, inner, True, False)
    L_t = F.matrix_product(first_L, F.tril(inner, -1))
    U_t = F.matrix_product(F.triu(inner, 0), first_U)
    if rows > columns:
        right = F.narrow(turned, -2, k, rows - k)
        right = right - F.matrix_product(F.narrow(L, -2, k, rows - k), U_t)
        L_t = F.cat([L_t, solution(F, U, right, True, False)], -2)
    elif rows < columns:
        right = F.narrow(turned, -1, k, columns - k)
        right = right - F.matrix_product(L_t, F.narrow(U, -1, k, columns - k))
        U_t = F.cat([U_t, solution(F, L, right, False, True, True)], -1)
    return L_t, U_t


linalg_lu_plu.differentiable("L", "U").gradient(
    A=lambda F, grads, P, L, U, pivot: _backward(F, grads[0], grads[1], P, L, U, pivot)
).forward(
    L=lambda F, A_t, P, L, U, pivot: _tangents(F, A_t, P, L, U, pivot)[0],
    U=lambda F, A_t, P, L, U, pivot: _tangents(F, A_t, P, L, U, pivot)[1],
)


Factors = return_type("linalg_lu", "P", "L", "U")


@named_out("linalg_lu", outputs=(1, 2))
def lu(A, *, pivot=True, out=None):
    """P, L and U with A = P L U (torch.linalg.lu).

    (..., m, n) gives (..., m, m), (..., m, k) and (..., k, n), k the smaller of m and n. Raises
    RuntimeError for less than two dimensions, and without pivoting.
    """
    _check("linalg.lu", A)
    if out is not None:
        *batch, rows, columns = A._raw.shape
        k = min(rows, columns)
        for one, shape in zip(out, ((rows, rows), (rows, k), (k, columns)), strict=True):
            set_output(one, (*batch, *shape), A._raw.dtype)
    result = Factors(linalg_lu_plu(A, pivot))
    return stored("linalg_lu", out, result)


def _check(name: str, A) -> None:
    if A._raw.ndim < 2:
        raise RuntimeError(
            f"{name}: Expected tensor with 2 or more dimensions. Got size: {[*A._raw.shape]} "
            "instead"
        )


# -- factors in one matrix --------------------------------------------------------------------


def _writes(args) -> tuple[int, int, int]:
    """ATen copies the matrix, or writes the codes of none."""
    empty = not args[0]._raw.size
    return int(not empty), 0, int(empty)


def _copies(args) -> int | None:
    return 0 if args[0]._raw.size else None


@lapack.factorisation(
    "LinalgLuFactorExBackward0", "LU", "pivots", "info", writes=_writes, copies=_copies
)
def linalg_lu_factor_ex(A: Array, pivot) -> tuple:
    return factored(A, pivot)


def _factor_backward(F, grad, LU, pivots, pivot):
    P, L, U = F.lu_unpack_all(LU, pivots, True, pivot)
    k = min(LU.shape[-2:])
    return _backward(F, F.narrow(grad, -1, 0, k), F.narrow(grad, -2, 0, k), P, L, U, pivot)


def _factor_tangent(F, tangent, LU, pivots, pivot):
    rows, columns = LU.shape[-2:]
    P, L, U = F.lu_unpack_all(LU, pivots, True, pivot)
    L_t, U_t = _tangents(F, tangent, P, L, U, pivot)
    k = min(rows, columns)
    square = F.narrow(L_t, -2, 0, k) + F.narrow(U_t, -1, 0, k)
    if rows > columns:
        return F.cat([square, F.narrow(L_t, -2, k, rows - k)], -2)
    if rows < columns:
        return F.cat([square, F.narrow(U_t, -1, k, columns - k)], -1)
    return square


linalg_lu_factor_ex.differentiable("LU").gradient(
    A=lambda F, grad, LU, pivots, pivot: _factor_backward(F, grad, LU, pivots, pivot)
).forward(LU=lambda F, A_t, LU, pivots, pivot: _factor_tangent(F, A_t, LU, pivots, pivot))


Packed = return_type("linalg_lu_factor", "LU", "pivots")


PackedEx = return_type("linalg_lu_factor_ex", "LU", "pivots", "info")


def _set_outputs(out, A) -> None:
    """Check the dtypes of the factors, of the pivots and of the codes, and resize them."""
    if out is not None:
        lapack.set_matrices(out[0], A.shape, A.dtype)
        set_output(out[1], (*A.shape[:-2], min(A.shape[-2:])), int32.numpy)
    if out is not None and len(out) > 2:
        set_output(out[2], A.shape[:-2], int32.numpy)


@named_out("linalg_lu_factor_ex", outputs=(0,))
def lu_factor_ex(A, *, pivot=True, check_errors=False, out=None):
    """The factors in one matrix (the ones of L's diagonal left out), the row exchanges, and error
    codes (torch.linalg.lu_factor_ex).

    (..., m, n); `pivots` (..., k) and `info` (...) are int32; `info` is 0, or where on the diagonal
    of U the first zero stands, for which RuntimeError is raised if `check_errors`. Raises
    RuntimeError as `lu` too.
    """
    _check("torch.lu_factor", A)
    _set_outputs(out, A._raw)
    result = PackedEx(linalg_lu_factor_ex(A, pivot))
    if check_errors:
        lapack.check_infos("torch.linalg.lu_factor_ex", result.info)
    return stored("linalg_lu_factor_ex", out, result)


@named_out("linalg_lu_factor_ex", outputs=(0,))
def lu_factor(A, *, pivot=True, out=None):
    """`lu_factor_ex` that raises RuntimeError for a zero on the diagonal of U
    (torch.linalg.lu_factor)."""
    _check("torch.lu_factor", A)
    _set_outputs(out, A._raw)
    LU, pivots, infos = lu_factor_ex(A, pivot=pivot)
    lapack.check_infos("torch.linalg.lu_factor", infos)
    result = Packed((LU, pivots))
    return stored("linalg_lu_factor_ex", out, result)


PackedWithInfo = return_type("_lu_with_info", "LU", "pivots", "info")


@native()
def _lu_with_info(input, pivot=True, check_errors=True):
    """The factors in one matrix, the row exchanges and the error codes, which torch does not look
    at whatever `check_errors`; warns that it is deprecated."""
    warn_once(_DEPRECATED)
    return PackedWithInfo(fp32(lu_factor_ex)(input, pivot=pivot))


# -- lu_unpack --------------------------------------------------------------------------------

Unpacked = return_type("lu_unpack", "P", "L", "U")


@operator(
    node="LuUnpackBackward0",
    outputs=("P", "L", "U"),
    function=False,
    method=False,
    saved_as=SavedAs(parts=("_sym_argsize_minus_1", "_sym_argsize_minus_2")),
    batching="leading",
)
def lu_unpack_all(LU_data: Array, LU_pivots: Array, unpack_data, unpack_pivots) -> tuple:
    if unpack_pivots and LU_pivots.dtype != np.int32:
        raise RuntimeError(
            "torch.lu_unpack: LU_pivots is expected to be a contiguous tensor of torch.int32 "
            "dtype.\nNote: this function is intended to be used with the output produced by "
            "torch.linalg.lu_factor"
        )
    P, L, U = (np.empty(0, LU_data.dtype) for _ in range(3))
    if unpack_pivots:
        P = permutations(LU_pivots, LU_data.shape[-2], LU_data.dtype)
    if unpack_data:
        L, U = triangles(LU_data)
    return P, L, U


def _unpack_backward(F, of_L, of_U, rows, columns):
    k = min(rows, columns)
    if of_U is None:
        lower = F.tril(of_L, -1)
        if rows >= columns:
            return lower
        return F.cat([lower, F.new_zeros(of_L, (*of_L.shape[:-1], columns - rows))], -1)
    if of_L is None:
        upper = F.triu(of_U, 0)
        if columns >= rows:
            return upper
        beyond = F.new_zeros(of_U, (*of_U.shape[:-2], rows - columns, columns))
        return F.cat([upper, beyond], -2)
    if rows > columns:
        square = F.tril(F.narrow(of_L, -2, 0, k), -1) + F.triu(of_U, 0)
        return F.cat([square, F.narrow(of_L, -2, k, rows - k)], -2)
    if rows < columns:
        square = F.tril(of_L, -1) + F.triu(F.narrow(of_U, -1, 0, k), 0)
        return F.cat([square, F.narrow(of_U, -1, k, columns - k)], -1)
    return F.tril(of_L, -1) + F.triu(of_U, 0)


def _lower_tangent(F, tangent):
    rows, columns = tangent.shape[-2:]
    return F.tril(tangent if rows >= columns else F.narrow(tangent, -1, 0, rows), -1)


def _upper_tangent(F, tangent):
    rows, columns = tangent.shape[-2:]
    return F.triu(tangent if columns >= rows else F.narrow(tangent, -2, 0, columns), 0)


lu_unpack_all.differentiable("L", "U").gradient(
    LU_data=lambda F, grads, LU_data_shape: _unpack_backward(F, *grads, *LU_data_shape[-2:])
).forward(
    L=lambda F, LU_data_t: _lower_tangent(F, LU_data_t),
    U=lambda F, LU_data_t: _upper_tangent(F, LU_data_t),
)


@function(method=False)
@named_out("lu_unpack", outputs=(1, 2), constants=("LU_pivots",))
def lu_unpack(LU_data, LU_pivots, unpack_data=True, unpack_pivots=True, *, out=None):
    """P, L and U from the result of `lu_factor` (torch.lu_unpack); those not requested are empty.

    Raises RuntimeError for less than two dimensions, and for pivots that are no int32 or out of
    range.
    """
    if STATE.enabled and requires_grad(LU_data):
        for dim in (-1, -2):
            existing_dim(dim, LU_data._raw.ndim)  # whose size torch saves first
    if LU_data._raw.ndim < 2:
        raise RuntimeError(
            "torch.lu_unpack: Expected tensor with 2 or more dimensions. Got size: "
            f"{[*LU_data._raw.shape]} instead"
        )
    expected, given = [*LU_data.shape[:-2], min(LU_data.shape[-2:])], [*LU_pivots.shape]
    if unpack_pivots and LU_pivots.dtype is int32 and given != expected:
        raise ValueError(f"Expected LU_pivots to have shape {expected} but got {given} instead.")
    result = Unpacked(lu_unpack_all(LU_data, LU_pivots, unpack_data, unpack_pivots))
    return stored("lu_unpack", out, result)


_DEPRECATED = (
    "torch.lu is deprecated in favor of torch.linalg.lu_factor / torch.linalg.lu_factor_ex and "
    "will be removed in a future PyTorch release.\n"
    "LU, pivots = torch.lu(A, compute_pivots)\n"
    "should be replaced with\n"
    "LU, pivots = torch.linalg.lu_factor(A, compute_pivots)\n"
    "and\n"
    "LU, pivots, info = torch.lu(A, compute_pivots, get_infos=True)\n"
    "should be replaced with\n"
    "LU, pivots, info = torch.linalg.lu_factor_ex(A, compute_pivots)"
)
