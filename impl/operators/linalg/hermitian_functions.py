"""The square root of Hermitian matrices, and the polar decomposition, whose factor H is one.

Both derivatives solve a Lyapunov equation in the basis of eigenvectors: of dX from X dX + dX X = dA
for the root, and of dH and the skew-Hermitian U^H dU for A = U H (N. J. Higham, "Functions of
matrices", 2008, chapters 6 and 8).
"""

from __future__ import annotations

import numpy as np

from impl.core.return_types import return_type
from impl.dispatch import not_implemented
from impl.dispatch.autocast import fp32
from impl.dispatch.definition import Array
from impl.dispatch.out import store_exactly
from impl.operators.linalg import lapack
from impl.operators.linalg.lapack import _LinAlgError as LinAlgError


def _hermitian(value):
    """The Hermitian part of matrices, against rounding."""
    return (value + value.conj().swapaxes(-1, -2)) / value.dtype.type(2)


def _scaled_product(vectors, values):
    """The Hermitian matrices with these eigenvectors and eigenvalues."""
    product = np.matmul(vectors * values[..., None, :], vectors.conj().swapaxes(-1, -2))
    return np.ascontiguousarray(_hermitian(product.astype(vectors.dtype, copy=False)))


def _basis(F, matrices):
    """The eigenvalues of positive-semidefinite matrices, eigenvectors and their adjoint."""
    values, vectors = F.linalg_eigh(matrices, "L", True)
    return F.clamp_min_number(values, 0), vectors, F.adjoint_matrix(vectors)


def _lyapunov(F, value, roots, vectors, adjoint):
    """The solution X of H X + X H = value, for the Hermitian H with these eigenvalues."""
    turned = F.matrix_product(F.matrix_product(adjoint, value), vectors)
    solved = turned / (F.unsqueeze(roots, -1) + F.unsqueeze(roots, -2))
    return F.matrix_product(F.matrix_product(vectors, solved), adjoint)


# -- the square root ------------------------------------------------------------------------------


@lapack.factorisation("LinalgMatrixSqrthBackward0")
def linalg_matrix_sqrth(self: Array) -> Array:
    if not self.size:
        return self.copy()
    values, vectors = np.linalg.eigh(self)
    return _scaled_product(vectors, np.sqrt(np.maximum(values, 0)))


def _differential(F, self, direction):
    values, vectors, adjoint = _basis(F, self)
    solved = _lyapunov(F, direction, F.sqrt(values), vectors, adjoint)
    return F.mul_scalar(solved + F.adjoint_matrix(solved), 0.5)


linalg_matrix_sqrth.gradient(self=lambda F, grad, self: _differential(F, self, grad))
linalg_matrix_sqrth.forward(lambda F, self_t, self: _differential(F, self, self_t))


@fp32
def matrix_sqrth(input):
    """The positive-definite X with X X = A, for symmetric or Hermitian positive-definite matrices
    A, of which the lower half is read (torch.linalg.matrix_sqrth).

    (..., n, n). Eigenvalues below 0 count as 0. Raises RuntimeError for matrices that are not
    square, NotImplementedError for integers and half precision.
    """
    lapack.check_square("linalg.matrix_sqrth", input._raw)
    not_implemented.check_floating("linalg.matrix_sqrth", input._raw, low_precision=False)
    return linalg_matrix_sqrth(input)


# -- the polar decomposition ----------------------------------------------------------------------


@lapack.factorisation("LinalgPolarBackward0", "U", "H")
def linalg_polar(A: Array) -> tuple:
    columns = A.shape[-1]
    if not A.size:
        return A.copy(), np.zeros((*A.shape[:-2], columns, columns), A.dtype)
    lapack.require_kernel(A, "linalg_svd_cpu")
    if lapack.first_not_finite(A) >= 0:
        raise LinAlgError(
            "linalg.svd: The algorithm failed to converge because the input matrix contained "
            "non-finite values."
        )
    left, values, right = np.linalg.svd(A, full_matrices=False)
    unitary = np.ascontiguousarray(np.matmul(left, right))
    return unitary, _scaled_product(right.conj().swapaxes(-1, -2), values)


@linalg_polar.gradients("A")
def _polar_gradient(F, grads, A, U, H):
    of_U, of_H = grads
    if of_U is None and of_H is None:
        return None
    values, vectors, adjoint = _basis(F, H)
    result = None
    if of_U is not None:
        inner = F.matrix_product(F.adjoint_matrix(U), of_U)
        rest = F.matrix_product(of_U - F.matrix_product(U, inner), vectors)
        beyond = F.matrix_product(rest / F.unsqueeze(values, -2), adjoint)
        skew = inner - F.adjoint_matrix(inner)
        within = F.matrix_product(U, _lyapunov(F, skew, values, vectors, adjoint))
        result = beyond + within
    if of_H is not None:
        both = of_H + F.adjoint_matrix(of_H)
        of_product = F.matrix_product(A, _lyapunov(F, both, values, vectors, adjoint))
        result = of_product if result is None else result + of_product
    return result


def _polar_tangents(F, tangent, U, H):
    values, vectors, adjoint = _basis(F, H)
    inner = F.matrix_product(F.adjoint_matrix(U), tangent)
    skew = _lyapunov(F, inner - F.adjoint_matrix(inner), values, vectors, adjoint)
    rest = F.matrix_product(tangent - F.matrix_product(U, inner), vectors)
    beyond = F.matrix_product(rest / F.unsqueeze(values, -2), adjoint)
    return F.matrix_product(U, skew) + beyond, inner - F.matrix_product(skew, H)


linalg_polar.forward(
    U=lambda F, A_t, U, H: _polar_tangents(F, A_t, U, H)[0],
    H=lambda F, A_t, U, H: _polar_tangents(F, A_t, U, H)[1],
)

Factors = return_type("linalg_polar", "U", "H")


def polar(A, *, out=None):
    """U with orthonormal columns and Hermitian positive-semidefinite H with A = U H
    (torch.linalg.polar).

    (..., m, n) with m >= n gives (..., m, n) and (..., n, n). Raises RuntimeError for fewer rows
    than columns, NotImplementedError for integers and half precision, LinAlgError for matrices that
    are not finite.
    """
    lapack.check_matrices("linalg.polar", A._raw)
    not_implemented.check_floating("linalg.polar", A._raw)
    rows, columns = A._raw.shape[-2:]
    if rows < columns:
        raise RuntimeError(
            f"linalg.polar: input must have at least as many rows as columns, but got {rows} by "
            f"{columns} matrices"
        )
    result = Factors(linalg_polar(A))
    return result if out is None else store_exactly("linalg_polar", out, result)
