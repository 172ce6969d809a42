"""Eigenvalues and eigenvectors of square matrices, general and Hermitian.

The derivatives are those of C. Boeddeker et al., "On the computation of complex-valued gradients
with application to statistically optimum beamforming" (2017), with the projections by which torch
makes the eigenvectors' derivative independent of their lengths and phases (linalg_eig_backward).
"""

from __future__ import annotations

import functools

import numpy as np

from impl.core import inference_mode, messages
from impl.core.dtypes import FLOATING, HALF_COMPLEX
from impl.core.registry import array_ops, tensor_ops
from impl.core.return_types import return_type
from impl.core.warning import warn
from impl.dispatch import batching_rules
from impl.dispatch.autocast import fp32
from impl.dispatch.definition import Array, owned
from impl.dispatch.out import check_castable, fit, named_out, set_output, store, store_exactly
from impl.dispatch.record import store_underived
from impl.operators.linalg import lapack
from impl.operators.linalg.lapack import _LinAlgError as LinAlgError
from impl.operators.linalg.linear_systems import solve
from impl.operators.linalg.matrices import diagonals, differences, differentiated, gaps
from impl.tensor.batched_tensor import physical
from impl.tensor.tensor import Tensor, new

Eig = return_type("linalg_eig", "eigenvalues", "eigenvectors")
Eigh = return_type("linalg_eigh", "eigenvalues", "eigenvectors")


def _check_phase(F, name: str, diagonal) -> None:
    """Raise RuntimeError if the loss depends on the phases of eigenvectors, which are free; not
    within transforms, in which ATen does not look at the elements."""
    if not F.is_complex(diagonal) or F.is_subclass_like(diagonal):
        return
    if not F.are_close(F.imaginary_part(diagonal), 0):
        raise RuntimeError(
            f"{name}: The eigenvectors in the complex case are specified up to multiplication by "
            "e^{i phi}. The specified loss function depends on this quantity, so it is "
            "ill-defined."
        )


array_ops.solution = lambda A, B: owned(lapack.column_major(np.linalg.solve(A, B)))
tensor_ops.solution = lambda A, B: solve(A, B)

# -- general matrices ---------------------------------------------------------------------------


@lapack.factorisation("LinalgEigBackward0", "eigenvalues", "eigenvectors", writes=1)
def linalg_eig(self: Array) -> tuple:
    values, vectors = np.linalg.eig(lapack.widened(self))
    kind = _complex(self)
    return values.astype(kind), lapack.column_major(vectors, kind)


linalg_eig.composes(inference_mode.refuses("linalg_eig"))


def _complex(A) -> np.dtype:
    return np.result_type(A.dtype, np.complex64)


@linalg_eig.gradients("self")
def _eig_gradient(F, grads, self_dtype, eigenvalues, eigenvectors):
    of_values, of_vectors = grads
    adjoint = functools.partial(F.adjoint_matrix, eigenvectors)
    if of_vectors is None:
        if of_values is None:
            return None
        inner = F.unsqueeze(of_values, -1) * adjoint()
    else:
        inner = F.matrix_product(adjoint(), of_vectors)
        along = diagonals(F, inner)
        _check_phase(F, "linalg_eig_backward", along)
        lengths = eigenvectors * F.unsqueeze(F.real_part(along), -2)
        inner = inner - F.matrix_product(adjoint(), lengths)
        inner = inner / gaps(F, F.conj(eigenvalues))
        inner = inner if of_values is None else F.with_diagonal(inner, of_values)
        inner = F.matrix_product(inner, adjoint())
    result = F.solution(adjoint(), inner)
    return F.real_part(result) if self_dtype.kind != "c" else result


def _eig_tangent(F, self_t, eigenvectors):
    product = F.matrix_product(F.cast_to(self_t, F.dtype_of(eigenvectors)), eigenvectors)
    return F.solution(eigenvectors, product)


def _eigenvectors_tangent(F, self_t, eigenvalues, eigenvectors):
    inner = _eig_tangent(F, self_t, eigenvectors) / differences(F, eigenvalues)
    inner = F.with_diagonal(inner, None)
    result = F.matrix_product(eigenvectors, inner)
    along = diagonals(F, F.matrix_product(F.adjoint_matrix(eigenvectors), result))
    return result - eigenvectors * F.unsqueeze(F.real_part(along), -2)


linalg_eig.forward(
    eigenvalues=lambda F, self_t, eigenvectors: diagonals(F, _eig_tangent(F, self_t, eigenvectors)),
    eigenvectors=_eigenvectors_tangent,
)


def _check_general(name: str, A: Tensor, out=None) -> None:
    is_floating = A.dtype.category >= FLOATING
    checked = name == "linalg.eig" and is_floating and not A.is_meta
    if checked and not np.isfinite(physical(A)._raw).all():
        raise RuntimeError("torch.linalg.eig: input tensor should not contain infs or NaNs.")
    if out is not None:  # the complex dtype of the results is looked for later
        lapack.check_square(name, A._raw)
    if not is_floating:
        raise RuntimeError(f"Unknown Complex ScalarType for {A.dtype.legacy}")
    if A.dtype in HALF_COMPLEX:  # one for each result
        warning = messages.experimental(HALF_COMPLEX[A.dtype][1])
        for _ in range(2 if name == "linalg.eig" else 1):
            warn(warning)
    lapack.check_square(name, A._raw)
    lapack.require_kernel(A._raw, "linalg_eig_out_cpu")


@fp32
@named_out("linalg_eig")
def eig(A, *, out=None):
    """Eigenvalues (..., n) and eigenvectors (..., n, n), always complex (torch.linalg.eig).

    Raises RuntimeError for matrices that are not square, integers, infinities and NaN; backward
    for a complex loss that depends on the eigenvectors' phases.
    """
    _check_general("linalg.eig", A, out)
    result = Eig(linalg_eig(A))
    if out is None:
        return result
    check_castable("torch.linalg.eig", out, result, "eigenvalues", "eigenvectors")
    fit(out[0], result[0]._raw.shape)
    lapack.fit_empty(out[1], result[1]._raw.shape, result[1]._raw.dtype)
    fit(out[1], result[1]._raw.shape)
    return store("linalg_eig", out, result)


@fp32
def eigvals(A, *, out=None):
    """The eigenvalues alone (torch.linalg.eigvals). Errors as `eig`."""
    if out is not None:
        return store_underived(
            "aten::linalg_eigvals", (A,), out, lambda: _values(A, out), _store_values
        )
    return eig(A)[0] if differentiated(A) else _values(A)


@batching_rules.fronted
def _values(A: Tensor, out=None) -> Tensor:
    """The eigenvalues alone; NaN for a matrix that is not finite."""
    _check_general("linalg.eigvals", A, out)
    matrices = lapack.widened(A._raw)
    finite = np.isfinite(matrices).all((-2, -1), keepdims=True)
    values = np.linalg.eigvals(np.where(finite, matrices, 0)).astype(_complex(A._raw))
    values[~finite[..., 0, 0]] = complex(np.nan, np.nan)
    result = new(values)
    # torch resizes the result, and makes that of real matrices of real numbers.
    for _ in range((values.shape != (0,)) + (not A.is_complex())):
        inference_mode.count_made(A, result)
    return result


def _store_values(name: str, out, result: Tensor):
    check_castable("torch.linalg.eigvals", out, result, "eigenvalues")
    return store(name, out, result)


# -- Hermitian matrices -------------------------------------------------------------------------


@lapack.factorisation("LinalgEighBackward0", "eigenvalues", "eigenvectors")
def linalg_eigh(A: Array, UPLO="L", compute_v=True) -> tuple:
    broken = lapack.first_not_finite(A) if A.shape[-1] > 1 and A.size else -1
    if broken >= 0:
        raise LinAlgError(
            f"linalg.eigh: {lapack.batch_element(A, broken)}The algorithm failed to converge "
            "because the input matrix is ill-conditioned or has too many repeated eigenvalues "
            "(error code: "
            f"{A.shape[-1] - 1 if compute_v else 1})."
        )
    wide, real = lapack.widened(A), A.real.dtype
    if not compute_v:
        return np.linalg.eigvalsh(wide, UPLO).astype(real, copy=False), np.empty(0, A.dtype)
    values, vectors = np.linalg.eigh(wide, UPLO)
    return values.astype(real, copy=False), lapack.column_major(vectors, A.dtype)


@linalg_eigh.gradients("A")
def _eigh_gradient(F, grads, eigenvalues, eigenvectors):
    of_values, of_vectors = grads
    if of_vectors is None:
        if of_values is None:
            return None
        lengths = eigenvectors * F.unsqueeze(of_values, -2)
        return F.matrix_product(lengths, F.adjoint_matrix(eigenvectors))
    inner = F.matrix_product(F.adjoint_matrix(eigenvectors), of_vectors)
    _check_phase(F, "linalg_eigh_backward", diagonals(F, inner))
    inner = F.mul_scalar(inner - F.adjoint_matrix(inner), 0.5)
    inner = inner / gaps(F, eigenvalues)  # of a loss without a phase zero on the diagonal
    inner = inner if of_values is None else F.with_diagonal(inner, of_values)
    turned = F.matrix_product(inner, F.adjoint_matrix(eigenvectors))
    return F.matrix_product(eigenvectors, turned)


def _eigh_tangent(F, A_t, eigenvectors):
    product = F.matrix_product(F.adjoint_matrix(eigenvectors), A_t)
    return F.matrix_product(product, eigenvectors)


linalg_eigh.forward(
    eigenvalues=lambda F, A_t, eigenvectors: F.real_part(
        diagonals(F, _eigh_tangent(F, A_t, eigenvectors))
    ),
    eigenvectors=lambda F, A_t, eigenvalues, eigenvectors: F.matrix_product(
        eigenvectors,
        F.with_diagonal(_eigh_tangent(F, A_t, eigenvectors) / differences(F, eigenvalues), None),
    ),
)


def _hermitian(A: Tensor, UPLO: str, compute_v: bool, values=None, vectors=None) -> tuple:
    """The operator, after `out=` for the eigenvalues and for the eigenvectors has been resized."""
    lapack.check_square("linalg.eigh", A._raw)
    if len(UPLO) != 1 or UPLO.upper() not in "LU":
        raise RuntimeError(f"Expected UPLO argument to be 'L' or 'U', but got {UPLO}")
    if vectors is not None:
        lapack.set_matrices(vectors, A._raw.shape, A._raw.dtype)
    if values is not None:
        set_output(values, A._raw.shape[:-1], A._raw.real.dtype)
    if A._raw.size:
        lapack.require_kernel(A._raw, "linalg_eigh_cpu")
    return linalg_eigh(A, UPLO.upper(), compute_v)


@fp32
@named_out("_linalg_eigh")
def eigh(A, UPLO="L", *, out=None):
    """Real eigenvalues (..., n) in ascending order, and eigenvectors (..., n, n), of symmetric or
    Hermitian matrices, of which the lower or upper (UPLO) half is read (torch.linalg.eigh).

    Raises RuntimeError for matrices that are not square and another UPLO, LinAlgError for matrices
    that are not finite; backward for a complex loss that depends on the eigenvectors' phases.
    """
    result = Eigh(_hermitian(A, UPLO, True, *(out or ())))
    return result if out is None else store_exactly("_linalg_eigh", out, result)


@fp32
@named_out("_linalg_eigh")
def eigvalsh(A, UPLO="L", *, out=None):
    """The eigenvalues alone (torch.linalg.eigvalsh). Errors as `eigh`."""
    result = _hermitian(A, UPLO, differentiated(A), out)[0]
    return result if out is None else store_exactly("_linalg_eigh", out, result)
