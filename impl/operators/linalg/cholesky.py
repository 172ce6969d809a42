"""Cholesky factorisation A = L L^H, and inverses and solutions computed from the factor.

From dL = L pi(L^-1 dA L^-H), where pi takes the lower triangle and half the diagonal, follows the
cotangent of A (I. Murray, "Differentiation of the Cholesky decomposition", 2016). It is Hermitian,
although only one triangle of A is read.
"""

from __future__ import annotations

import functools

import numpy as np

from impl.core.dtypes import int32
from impl.core.inference_mode import refuses
from impl.core.return_types import return_type
from impl.core.strides import unboxed
from impl.dispatch import not_implemented
from impl.dispatch.definition import Array, operator
from impl.dispatch.out import castable_out, named_out, set_output, stored
from impl.operators.linalg import lapack
from impl.operators.linalg.triangular_systems import check_together, solution


def _factor(A, upper: bool):
    """The factors, and for each the order of the first leading minor that is not positive (or
    0)."""
    factors, infos = lapack.column_major(A), np.zeros(A.shape[:-2], np.int32)
    if factors.size:
        lapack.require_kernel(A, "cholesky_cpu")
        potrf = lapack.lapack("potrf", A.dtype)
        for i in np.ndindex(infos.shape):
            factors[i], infos[i] = potrf(factors[i], not upper, True, True)
            if not infos[i]:
                infos[i] = _stopped_at_nan(factors[i], A[i], upper)
    return factors, unboxed(infos)


def _stopped_at_nan(factor, A, upper: bool) -> int:
    """The order of the first leading minor that is no number, or 0.

    LAPACK stops there and leaves the rows after it as they were; the library behind SciPy goes on.
    """
    bad = np.isnan(factor.diagonal())
    if not bad.any():
        return 0
    first = int(bad.argmax())
    left, right = (factor, np.triu(A)) if upper else (factor.T, np.tril(A).T)
    left[first, first + 1 :] = right[first, first + 1 :]
    left[first + 1 :] = right[first + 1 :]
    return first + 1


def _writes(args) -> tuple[int, int]:
    """ATen writes the triangle, or the codes of no matrix."""
    empty = not args[0]._raw.size
    return int(not empty), int(empty)


@lapack.factorisation(
    "LinalgCholeskyExBackward0",
    "L",
    "info",
    autocast="fp32",
    writes=_writes,
    written_by=lambda args: ("triu" if args[1] else "tril") if args[0]._raw.size else None,
)
def linalg_cholesky_ex(self: Array, upper) -> tuple:
    return _factor(self, upper)


def _backward(F, grad, upper: bool, factor):
    L = F.adjoint_matrix(factor) if upper else factor
    of_L = F.adjoint_matrix(grad) if upper else grad
    lower = F.tril(F.matrix_product(F.adjoint_matrix(L), of_L), 0)
    both = F.mul_scalar(lower + F.adjoint_matrix(F.tril(lower, -1)), 0.5)
    left = solution(F, F.adjoint_matrix(L), both, True)
    return solution(F, L, left, False, False)


def _tangent(F, tangent, upper: bool, factor):
    L = F.adjoint_matrix(factor) if upper else factor
    inner = solution(F, L, tangent, False)
    inner = solution(F, F.adjoint_matrix(L), inner, True, False)
    half = F.diag_embed(F.mul_scalar(F.diagonal(inner, 0, -2, -1), 0.5))
    product = F.matrix_product(L, F.tril(inner, 0) - half)
    return F.adjoint_matrix(product) if upper else product


linalg_cholesky_ex.differentiable("L").gradient(
    self=lambda F, grad, upper, L: _backward(F, grad, upper, L)
).forward(L=lambda F, self_t, L, upper: _tangent(F, self_t, upper, L))


Factored = return_type("linalg_cholesky_ex", "L", "info")


def _prepare_factors(matrices, out) -> None:
    """Check the matrices, then the factors and the codes of `out=`, and resize these."""
    lapack.check_square("linalg.cholesky", matrices)
    not_implemented.check_floating("linalg.cholesky", matrices)
    if out is not None:
        lapack.set_matrices(out[0], matrices.shape, matrices.dtype)
        for infos in out[1:]:
            set_output(infos, matrices.shape[:-2], int32.numpy)


@named_out("linalg_cholesky_ex", outputs=(0,))
def cholesky_ex(input, *, upper=False, check_errors=False, out=None):
    """The factor L with input = L L^H, or the adjoint of L if `upper`, with error codes
    (torch.linalg.cholesky_ex).

    (..., n, n); `info` (int32) is 0, or the order of the first leading minor that is not positive,
    for which LinAlgError is raised if `check_errors`. Raises RuntimeError for other shapes.
    """
    _prepare_factors(input._raw, out)
    result = Factored(linalg_cholesky_ex(input, upper))
    if check_errors:
        lapack.check_infos("linalg.cholesky_ex", result.info)
    return stored("linalg_cholesky_ex", out, result)


@named_out("linalg_cholesky_ex", outputs=(0,))
def linalg_cholesky(input, *, upper=False, out=None):
    """The factor L with input = L L^H, or its adjoint if `upper` (torch.linalg.cholesky).

    Raises LinAlgError for a matrix that is not positive-definite, RuntimeError as `cholesky_ex`.
    """
    if out is not None:
        _prepare_factors(input._raw, (out,))
    factors, infos = cholesky_ex(input, upper=upper)
    lapack.check_infos("linalg.cholesky", infos)
    return stored("linalg_cholesky_ex", out, factors)


# -- from a factor --------------------------------------------------------------------------------


@operator(out=True, fresh=True, autocast="fp32", writes=1, batching="leading")
def cholesky_inverse(self: Array, upper=False) -> Array:
    """The inverse of L L^H, of U^H U if `upper`, from the factor (torch.cholesky_inverse).

    (..., n, n). Raises RuntimeError unless the matrices are square.
    """
    lapack.check_square("cholesky_inverse", self)
    lapack.require_kernel(self, "cholesky_inverse_out_cpu")
    result, infos = lapack.column_major(self), np.zeros(self.shape[:-2], np.int32)
    if result.size:
        potri = lapack.lapack("potri", self.dtype)
        for i in np.ndindex(infos.shape):
            result[i], infos[i] = potri(result[i], not upper, True)
        strict = np.conj(np.triu(result, 1) if upper else np.tril(result, -1))
        result[...] = np.triu(result) if upper else np.tril(result)
        result += strict.swapaxes(-1, -2)
    lapack.check_infos("cholesky_inverse", infos)
    return result


cholesky_inverse.composes(refuses("cholesky_inverse"))
cholesky_inverse.checks_out(castable_out("cholesky_inverse"))


@functools.partial(cholesky_inverse.prepares_out, late=True)
def _prepare_inverse(out, self, upper):
    lapack.check_square("cholesky_inverse", self)
    lapack.fit_empty(out, self.shape, self.dtype)
    return [self, upper]


def _inverse_backward(F, grad, factor, upper, inverse):
    both = grad + F.adjoint_matrix(grad)
    common = F.matrix_product(inverse, F.matrix_product(both, inverse))
    return -F.matrix_product(factor, common) if upper else -F.matrix_product(common, factor)


def _inverse_tangent(F, tangent, factor, upper, inverse):
    """The tangent as torch computes it.

    In the exact derivative, -X dL L^H X plus its adjoint, the last two factors have the other
    order.
    """
    right = factor if upper else F.adjoint_matrix(factor)
    left = F.adjoint_matrix(tangent) if upper else tangent
    product = F.matrix_product(F.matrix_product(-inverse, left), F.matrix_product(inverse, right))
    return product + F.adjoint_matrix(product)


cholesky_inverse.gradient(
    self=lambda F, grad, self, upper, result: _inverse_backward(F, grad, self, upper, result)
).forward(lambda F, self_t, self, upper, result: _inverse_tangent(F, self_t, self, upper, result))


@operator(out=True, fresh=True, numbers=False, autocast="fp32", batching="leading")
def cholesky_solve(self: Array, input2: Array, upper=False) -> Array:
    """X with L L^H X = B, or U^H U X = B if `upper`, from the factor (torch.cholesky_solve).

    B (..., n, k) and the factor (..., n, n), whose batches broadcast. Raises RuntimeError for other
    shapes and dtypes that differ.
    """
    for name, given in (("b", self), ("u", input2)):
        if given.ndim < 2:
            raise RuntimeError(
                f"{name} should have at least 2 dimensions, but has {given.ndim} dimensions instead"
            )
    check_together("cholesky_solve", self, input2)
    lapack.require_kernel(self, "cholesky_solve_cpu")
    factors, right = lapack.broadcast_batches(input2, self)
    result = lapack.column_major(right)
    if result.size:
        potrs = lapack.lapack("potrs", right.dtype)
        for i in np.ndindex(right.shape[:-2]):
            result[i], _ = potrs(factors[i], result[i], not upper, True)
    return result


cholesky_solve.checks_out(castable_out("cholesky_solve"), first=True)


@cholesky_solve.gradients("self", "input2")
def _solve_gradients(F, grad, self, input2, upper, result, needs):
    to_right = F.cholesky_solve(grad, input2, upper)
    if not needs[1]:
        return to_right, None
    product = F.matrix_product(to_right, F.adjoint_matrix(result))
    common = product + F.adjoint_matrix(product)
    if upper:
        return to_right, -F.matrix_product(input2, common)
    return to_right, -F.matrix_product(common, input2)


@cholesky_solve.forward
def _solve_tangent(F, self_t, input2_t, input2, upper, result):
    if upper:
        product = F.matrix_product(F.adjoint_matrix(input2_t), input2)
    else:
        product = F.matrix_product(input2_t, F.adjoint_matrix(input2))
    of_A = product + F.adjoint_matrix(product)
    return F.cholesky_solve(self_t - F.matrix_product(of_A, result), input2, upper)
