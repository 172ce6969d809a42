"""The polar decomposition, and the square root of Hermitian matrices.

Their derivatives solve the Sylvester equation H X + X H = M for a Hermitian H, by its eigenvectors
(N. Higham, "Functions of Matrices", 2008, chapters 6 and 8).
"""

from __future__ import annotations

import numpy as np

from impl.core.return_types import return_type
from impl.dispatch import not_implemented
from impl.dispatch.autocast import fp32
from impl.dispatch.definition import Array
from impl.dispatch.formula_helpers import summed
from impl.dispatch.out import named_out, set_output, stored
from impl.operators.linalg import lapack
from impl.operators.linalg.eigenvalues import linalg_eigh
from impl.operators.linalg.singular_values import linalg_svd


def _sylvester(F, spectrum, right):
    """X with H X + X H = `right`, for an H with these eigenvalues and eigenvectors."""
    eigenvalues, eigenvectors = spectrum
    turned = F.matrix_product(F.adjoint_matrix(eigenvectors), right)
    turned = F.matrix_product(turned, eigenvectors)
    turned = turned / (F.unsqueeze(eigenvalues, -1) + F.unsqueeze(eigenvalues, -2))
    turned = F.matrix_product(eigenvectors, turned)
    return F.matrix_product(turned, F.adjoint_matrix(eigenvectors))


def _without_negative(F, matrix):
    """Eigenvalues, zero for negative ones, and eigenvectors of a Hermitian matrix."""
    eigenvalues, eigenvectors = F.linalg_eigh(matrix)
    return F.clamp_min_number(eigenvalues, 0), eigenvectors


# -- polar decomposition ------------------------------------------------------------------------


@lapack.factorisation("LinalgPolarBackward0", "U", "H")
def linalg_polar(A: Array) -> tuple:
    lapack.require_kernel(A, "linalg_svd_cpu")
    left, S, right = linalg_svd.kernel(A)
    U = np.matmul(left, right)
    H = np.matmul(right.conj().swapaxes(-1, -2) * S[..., None, :], right)
    H = (H + H.conj().swapaxes(-1, -2)) * A.real.dtype.type(0.5)  # Hermitian despite the rounding
    return np.ascontiguousarray(U), np.ascontiguousarray(H)


def _over(F, spectrum, value):
    """`value` times the inverse of the matrix with these eigenvalues and eigenvectors."""
    eigenvalues, eigenvectors = spectrum
    turned = F.matrix_product(value, eigenvectors) / F.unsqueeze(eigenvalues, -2)
    return F.matrix_product(turned, F.adjoint_matrix(eigenvectors))


@linalg_polar.gradients("A")
def _polar_gradient(F, grads, A, U, H):
    of_U, of_H = grads
    if of_U is None and of_H is None:
        return None
    spectrum = _without_negative(F, H)
    made = None
    if of_U is not None:
        along = F.matrix_product(F.adjoint_matrix(U), of_U)
        made = _over(F, spectrum, of_U - F.matrix_product(U, along))
        skew = _sylvester(F, spectrum, along - F.adjoint_matrix(along))
        made = made + F.matrix_product(U, skew)
    if of_H is not None:
        symmetric = _sylvester(F, spectrum, of_H + F.adjoint_matrix(of_H))
        made = summed(made, F.matrix_product(A, symmetric))
    return made


def _tangent_of_H(F, A_t, A, spectrum):
    right = F.matrix_product(F.adjoint_matrix(A_t), A)
    return _sylvester(F, spectrum, right + F.matrix_product(F.adjoint_matrix(A), A_t))


def _polar_tangent_U(F, A_t, A, U, H):
    spectrum = _without_negative(F, H)
    return _over(F, spectrum, A_t - F.matrix_product(U, _tangent_of_H(F, A_t, A, spectrum)))


linalg_polar.differentiable("U", "H").forward(
    U=_polar_tangent_U,
    H=lambda F, A_t, A, H: _tangent_of_H(F, A_t, A, _without_negative(F, H)),
)

Polar = return_type("linalg_polar", "U", "H")


@named_out("linalg_polar")
def polar(A, *, out=None):
    """U with orthonormal columns and a Hermitian positive-semidefinite H with A = U H
    (torch.linalg.polar).

    (..., m, n) gives (..., m, n) and (..., n, n). The derivatives are those of a matrix of full
    rank. Raises RuntimeError for fewer rows than columns and less than two dimensions.
    """
    lapack.check_matrices("linalg.polar", A._raw)
    not_implemented.check_floating("linalg.polar", A._raw)
    rows, columns = A._raw.shape[-2:]
    if rows < columns:
        raise RuntimeError(
            "linalg.polar: input must have at least as many rows as columns, but got "
            f"{rows} by {columns} matrices"
        )
    if out is not None:
        set_output(out[0], A._raw.shape, A._raw.dtype)
        set_output(out[1], (*A._raw.shape[:-2], columns, columns), A._raw.dtype)
    return stored("linalg_polar", out, Polar(linalg_polar(A)))


# -- square root --------------------------------------------------------------------------------


@lapack.factorisation("LinalgMatrixSqrthBackward0")
def linalg_matrix_sqrth(self: Array) -> Array:
    values, vectors = linalg_eigh.kernel(self)
    roots = np.sqrt(np.maximum(values, 0))
    root = np.matmul(vectors * roots[..., None, :], vectors.conj().swapaxes(-1, -2))
    return np.ascontiguousarray(root)


def _root_derivative(F, change, matrix):
    """The derivative of the square root, which is its own adjoint."""
    eigenvalues, eigenvectors = _without_negative(F, matrix)
    change = F.mul_scalar(change + F.adjoint_matrix(change), 0.5)
    made = _sylvester(F, (F.sqrt(eigenvalues), eigenvectors), change)
    return F.mul_scalar(made + F.adjoint_matrix(made), 0.5)


linalg_matrix_sqrth.gradient(self=lambda F, grad, self: _root_derivative(F, grad, self))
linalg_matrix_sqrth.forward(lambda F, self_t, self: _root_derivative(F, self_t, self))


@fp32
def matrix_sqrth(input):
    """The square root of symmetric or Hermitian positive-semidefinite matrices, of which the lower
    half is read; negative eigenvalues count as zero (torch.linalg.matrix_sqrth).

    Raises RuntimeError for matrices that are not square.
    """
    lapack.check_square("linalg.matrix_sqrth", input._raw)
    not_implemented.check_floating("linalg.matrix_sqrth", input._raw, low_precision=False)
    return linalg_matrix_sqrth(input)
