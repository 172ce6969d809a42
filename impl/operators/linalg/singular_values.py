"""Singular values and singular vectors of matrices.

The derivatives are those of J. Townsend, "Differentiating the singular value decomposition"
(2016), and, for complex matrices, of Z.-Q. Wan and S.-X. Zhang, "Automatic differentiation for
complex valued SVD" (2019); torch's svd_backward and linalg_svd_jvp evaluate them in this order.
"""

from __future__ import annotations

import numpy as np

from impl.core.registry import tensor_ops
from impl.core.return_types import return_type
from impl.dispatch import not_implemented
from impl.dispatch.autocast import fp32
from impl.dispatch.definition import Array, function
from impl.dispatch.facts import SavedAs
from impl.dispatch.out import check_same, fit, named_out, refuse_links, set_output, store_exactly
from impl.operators.linalg import lapack
from impl.operators.linalg.lapack import _LinAlgError as LinAlgError
from impl.operators.linalg.matrices import diagonals, differentiated, gaps
from impl.tensor.tensor import Tensor

LinalgSvd = return_type("linalg_svd", "U", "S", "Vh")
Svd = return_type("svd", "U", "S", "V")


@lapack.factorisation(
    "LinalgSvdBackward0",
    "U",
    "S",
    "Vh",
    autocast="fp32",
    saved_as=SavedAs(parts=("_sym_argsize_minus_1",)),
)
def linalg_svd(A: Array, full_matrices=False, compute_uv=True, driver=None) -> tuple:
    """Singular values and vectors; of a matrix with infinities the values are NaN, as LAPACK has
    it. Raises LinAlgError for NaN."""
    broken = lapack.first_with(np.isnan, A) if A.size else -1
    if broken >= 0:
        raise LinAlgError(
            f"linalg.svd: {lapack.batch_element(A, broken)}The algorithm failed to converge "
            "because the input matrix contained non-finite values."
        )
    wide = lapack.widened(A)
    if 1 in A.shape[-2:]:
        wide = (
            wide + 0.0
        )  # by the sign of a zero the LAPACKs of NumPy and torch reflect differently
    real = A.real.dtype
    infinite = np.isinf(wide).any((-2, -1))
    if infinite.any():
        wide = np.where(infinite[..., None, None], wide.dtype.type(0), wide)
    if not compute_uv:
        S = np.linalg.svd(wide, compute_uv=False)
        S[infinite] = np.nan
        return np.empty(0, A.dtype), S.astype(real, copy=False), np.empty(0, A.dtype)
    U, S, Vh = np.linalg.svd(wide, full_matrices)
    S[infinite] = np.nan
    for vectors in (U, Vh):
        vectors[infinite] = 1 if vectors.shape[-2:] == (1, 1) else np.nan
    U, Vh = (lapack.column_major(vectors, A.dtype) for vectors in (U, Vh))
    return U, S.astype(real, copy=False), Vh


def _skew(F, value):
    return value - F.adjoint_matrix(value)


def _symmetric(F, value):
    return value + F.adjoint_matrix(value)


def _reduced(F, U, S, Vh):
    """The singular vectors that have a singular value each."""
    rank = S.shape[-1]
    return F.narrow(U, -1, 0, rank), F.narrow(Vh, -2, 0, rank)


def _check_phase(F, of_U, of_Vh) -> None:
    """Raise RuntimeError if the loss depends on the phases of singular vectors, which are free
    but for those of a pair, that must be the same."""
    phases = [F.imaginary_part(diagonals(F, of)) for of in (of_U, of_Vh) if of is not None]
    if not F.are_close(phases[0], -phases[1] if len(phases) == 2 else 0):
        raise RuntimeError(
            "svd_backward: The singular vectors in the complex case are specified up to "
            "multiplication by e^{i phi}. The specified loss function depends on this phase term, "
            "making it ill-defined."
        )


@linalg_svd.gradients("A")
def _svd_gradient(F, grads, U, S, S_shape, Vh, full_matrices):
    of_U, of_S, of_Vh = grads
    if full_matrices:
        rank = S_shape[-1]
        of_U = None if of_U is None else F.narrow(of_U, -1, 0, rank)
        of_Vh = None if of_Vh is None else F.narrow(of_Vh, -2, 0, rank)
        U, Vh = _reduced(F, U, S, Vh)
    tall = U.shape[-2] >= Vh.shape[-1]
    if of_U is None and of_Vh is None:
        if of_S is None:
            return None
        if tall:
            return F.matrix_product(U, F.unsqueeze(of_S, -1) * Vh)
        return F.matrix_product(U * F.unsqueeze(of_S, -2), Vh)
    left = None if of_U is None else _skew(F, F.matrix_product(F.adjoint_matrix(U), of_U))
    right = None if of_Vh is None else _skew(F, F.matrix_product(Vh, F.adjoint_matrix(of_Vh)))
    if F.is_complex(U):
        _check_phase(F, left, right)
    inner = _inner_gradient(F, left, of_S, right, S)
    return _outer_gradient(F, inner, of_U, of_Vh, U, S, Vh)


def _inner_gradient(F, left, of_S, right, S):
    """The gradient of U^H A V, for singular vectors that span everything."""
    distances = gaps(F, S * S)
    if right is None:
        inner = (left / distances) * F.unsqueeze(S, -2)
    elif left is None:
        inner = F.unsqueeze(S, -1) * (right / distances)
    else:
        inner = (left * F.unsqueeze(S, -2) + F.unsqueeze(S, -1) * right) / distances
    if of_S is not None:
        inner = inner + F.diag_embed(of_S, 0, -2, -1)
    if left is not None and right is not None and F.is_complex(left):
        phases = diagonals(F, left) / F.mul_scalar(S, 2.0)
        inner = inner + F.diag_embed(phases, 0, -2, -1)
    return inner


def _outer_gradient(F, inner, of_U, of_Vh, U, S, Vh):
    """The gradient of A, with what turns the singular vectors out of the space they span."""
    rows, columns = U.shape[-2], Vh.shape[-1]
    if rows > columns and of_U is not None:
        turned = of_U / F.unsqueeze(S, -2)
        across = F.matrix_product(U, F.matrix_product(F.adjoint_matrix(U), turned))
        return F.matrix_product(F.matrix_product(U, inner) + turned - across, Vh)
    if rows < columns and of_Vh is not None:
        turned = of_Vh / F.unsqueeze(S, -1)
        across = F.matrix_product(F.matrix_product(turned, F.adjoint_matrix(Vh)), Vh)
        return F.matrix_product(U, F.matrix_product(inner, Vh) + turned - across)
    if rows >= columns:
        return F.matrix_product(U, F.matrix_product(inner, Vh))
    return F.matrix_product(F.matrix_product(U, inner), Vh)


# -- forward mode -------------------------------------------------------------------------------


def _projected(F, A_t, U, S, Vh):
    """U^H dA V."""
    U, Vh = _reduced(F, U, S, Vh)
    U, V = F.adjoint_matrix(U), F.adjoint_matrix(Vh)
    if U.shape[-1] >= V.shape[-2]:
        return F.matrix_product(F.matrix_product(U, A_t), V)
    return F.matrix_product(U, F.matrix_product(A_t, V))


def _values_tangent(F, A_t, U, S, Vh):
    return F.real_part(diagonals(F, _projected(F, A_t, U, S, Vh)))


def _turns(F, A_t, U, S, Vh, left: bool):
    """How the singular vectors turn among themselves: U^H dU, or dVh V."""
    inner = _projected(F, A_t, U, S, Vh)
    along = diagonals(F, inner)
    inner = inner - F.diag_embed(F.real_part(along), 0, -2, -1)
    scaled = inner * F.unsqueeze(S, -2) if left else F.unsqueeze(S, -1) * inner
    turns = _symmetric(F, scaled) / gaps(F, S * S)
    if F.is_complex(inner):
        phases = F.diag_embed(F.imaginary_part(along) / F.mul_scalar(S, 2.0), 0, -2, -1) * 1j
        turns = F.with_diagonal(turns, None) + (phases if left else -phases)
    return turns if left else -turns


def _left_tangent(F, A_t, U, S, Vh, full_matrices):
    turns = _turns(F, A_t, U, S, Vh, True)
    rows = U.shape[-2]
    U, Vh = _reduced(F, U, S, Vh)
    result = F.matrix_product(U, turns)
    if rows > Vh.shape[-1]:
        out = F.matrix_product(A_t, F.adjoint_matrix(Vh) / F.unsqueeze(S, -2))
        across = F.matrix_product(U, F.matrix_product(F.adjoint_matrix(U), out))
        result = result + out - across
        if full_matrices:
            result = F.cat([result, _zeros_beyond(F, result, -1, rows)], -1)
    return result


def _right_tangent(F, A_t, U, S, Vh, full_matrices):
    turns = _turns(F, A_t, U, S, Vh, False)
    columns = Vh.shape[-1]
    U, Vh = _reduced(F, U, S, Vh)
    result = F.matrix_product(turns, Vh)
    if columns > U.shape[-2]:
        out = F.matrix_product(F.adjoint_matrix(U) / F.unsqueeze(S, -1), A_t)
        across = F.matrix_product(F.matrix_product(out, F.adjoint_matrix(Vh)), Vh)
        result = result + out - across
        if full_matrices:
            result = F.cat([result, _zeros_beyond(F, result, -2, columns)], -2)
    return result


def _zeros_beyond(F, value, dim: int, size: int):
    """The number of elements missing in a dimension up to a size."""
    shape = [*value.shape]
    shape[dim] = size - shape[dim]
    return F.new_zeros(value, tuple(shape))


linalg_svd.forward(U=_left_tangent, S=_values_tangent, Vh=_right_tangent)


# -- public spellings ---------------------------------------------------------------------------


def _set_outputs(out, A, full_matrices: bool) -> None:
    """Check the dtypes of U, S and Vh, and resize them, in ATen's order; or of S alone."""
    *batch, rows, columns = A.shape
    k = min(rows, columns)
    if isinstance(out, Tensor):
        set_output(out, (*batch, k), A.real.dtype)
        return
    left, right = (rows, columns) if full_matrices else (k, k)
    lapack.set_matrices(out[0], (*batch, rows, left), A.dtype)
    lapack.set_matrices(out[2], (*batch, right, columns), A.dtype)
    set_output(out[1], (*batch, k), A.real.dtype)


def _decomposed(A: Tensor, full_matrices: bool, compute_uv: bool, driver, out=None) -> tuple:
    lapack.check_matrices("linalg.svd", A._raw)
    not_implemented.check_floating("linalg.svd", A._raw)
    if driver is not None and A._raw.size:
        raise RuntimeError(
            "torch.linalg.svd: keyword argument `driver=` is only supported on CUDA inputs with "
            "cuSOLVER backend."
        )
    if out is not None:
        _set_outputs(out, A._raw, full_matrices)
    if A._raw.size:
        lapack.require_kernel(A._raw, "linalg_svd_cpu")
    return linalg_svd(A, full_matrices, compute_uv, driver)


@named_out("_linalg_svd")
def decomposed(A, full_matrices=True, *, driver=None, out=None):
    """U (..., m, m), S (..., k) and Vh (..., n, n) with A = U diag(S) Vh (torch.linalg.svd).

    k is the smaller of m and n, to which U's columns and Vh's rows are cut unless `full_matrices`.
    Raises RuntimeError for less than two dimensions, integers, and a `driver`; LinAlgError for
    matrices that are not finite; backward for a complex loss that depends on the singular vectors'
    phases.
    """
    result = LinalgSvd(_decomposed(A, full_matrices, True, driver, out))
    return result if out is None else store_exactly("_linalg_svd", out, result)


@fp32
@named_out("_linalg_svd")
def svdvals(A, *, driver=None, out=None):
    """The singular values (..., k) alone (torch.linalg.svdvals). Errors as `torch.linalg.svd`."""
    result = _decomposed(A, False, differentiated(A), driver, out)[1]
    return result if out is None else store_exactly("_linalg_svd", out, result)


@function()
@fp32
def svd(input, some=True, compute_uv=True, *, out=None):
    """U, S and V with A = U diag(S) V^H, cut to the singular values if `some` (torch.svd).

    Without `compute_uv` U and V are square and zeros. Errors as `torch.linalg.svd`.
    """
    if out is not None:
        return _svd_into(out, input, some, compute_uv)
    shape = input._raw.shape
    if len(shape) < 2:
        raise RuntimeError(
            f"linalg.svd: input should have at least 2 dimensions, but has {len(shape)} dimensions "
            "instead"
        )
    if compute_uv:
        U, S, Vh = _decomposed(input, not some, True, None)
    else:
        S = svdvals(input)
        U, Vh = (tensor_ops.new_zeros(input, (*shape[:-2], n, n)).zero_() for n in shape[-2:])
    return Svd((U, S, tensor_ops.adjoint_matrix(Vh)))


_ANOTHER = "torch.svd: Expected out tensor to have dtype {0.legacy} but got {1.legacy} instead"


def _svd_into(out, input: Tensor, some: bool, compute_uv: bool):
    """`svd` with `out=`, by operators that write to these tensors: V is transposed in place before
    and after it is V^H, also where it is the input."""
    U, S, V = out
    if compute_uv:
        if V._raw.ndim > 1:
            V.transpose_(-2, -1)
        refuse_links("_linalg_svd", input, out)
        decomposed(input, not some, out=out)
        V.transpose_(-2, -1)
        if V.is_complex():
            V.conj_physical_()
    else:
        for one in (U, V):
            check_same(_ANOTHER, one, input.dtype)
        refuse_links("_linalg_svd", input, S)
        svdvals(input, out=S)
        *batch, rows, columns = input._raw.shape
        for one, n in ((U, rows), (V, columns)):
            fit(one, (*batch, n, n))
            one.zero_()
    return Svd.out_type((U, S, V))


def singular_norm(A: Tensor, ord, dim: tuple[int, int], keepdim: bool, dtype) -> Tensor:
    """The sum ("nuc"), the largest (2) or the smallest (-2) of the singular values of the matrices
    in two dimensions (torch.linalg.matrix_norm), computed in `dtype` if given."""
    if dtype is not None:
        A = A.to(dtype)
    order = (*(d for d in range(A._raw.ndim) if d not in dim), *dim)
    values = svdvals(tensor_ops.permute(A, order))
    if ord == "nuc":
        result = values.sum(-1, keepdim)
    elif values._raw.shape[-1] == 0 and ord > 0:
        # The largest of no values is zero, and no function of the matrix.
        result = tensor_ops.new_zeros(values, values.sum(-1, keepdim)._raw.shape).zero_()
    else:
        result = values.amax(-1, keepdim) if ord > 0 else values.amin(-1, keepdim)
    if not keepdim:
        return result
    back = tuple(order.index(d) for d in range(len(order)))
    return tensor_ops.permute(tensor_ops.unsqueeze(result, -1), back)
