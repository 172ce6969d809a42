"""Determinants and their logarithms, from LU factors.

By Jacobi's formula the cotangent of A is grad conj(det) A^-H, which is a solution of a system with
the adjoint matrix; that of the logarithm of |det| is grad A^-H.
"""

from __future__ import annotations

import math

import numpy as np

from impl.core.registry import FUNCTIONS, array_ops, tensor_ops
from impl.core.return_types import return_type
from impl.core.strides import unboxed
from impl.dispatch import not_implemented
from impl.dispatch.definition import Array, formula_operation, function
from impl.dispatch.out import named_out, set_output, stored
from impl.operators.linalg import lapack, lu, lu_systems
from impl.operators.linalg.linear_systems import solve, solved_for_tangent
from impl.operators.reductions.reductions import products_of_others
from impl.tensor.tensor import new
from impl.tensor.wrappers import is_wrapped


@formula_operation
def is_turned(A) -> bool:
    """Whether the transpose is factorised in place of A, which saves a copy for row-major
    matrices."""
    return A.flags.c_contiguous and A.dtype.kind != "c"


tensor_ops.is_turned = lambda A: is_turned(A._raw)


def _factored(A):
    return lu.factored(A.swapaxes(-1, -2) if is_turned(A) else A)


def _parity(pivots):
    """The sign of the permutation: 1 or -1 for an even or odd number of row exchanges."""
    exchanged = np.count_nonzero(pivots != np.arange(1, pivots.shape[-1] + 1), axis=-1)
    return 1 - 2 * (exchanged % 2)


def _pivotal(LU):
    return np.diagonal(LU, 0, -2, -1)


def _spread(F, value, A):
    """Matrices (..., n, n) whose diagonals repeat the numbers of `value` (...)."""
    shape = tuple(A.shape)
    rows = F.expand(F.unsqueeze(value, -1), shape[:-1])
    return F.transpose(F.diag_embed(rows), -2, -1)


def _trace_of_solution(F, A, LU, pivots, A_t):
    if is_wrapped(A):  # ATen solves it anew in a transform, which refuses singular matrices
        solution = solve(A, A_t)
    else:
        solution = solved_for_tangent(F, A, LU, pivots, A_t, turned=F.is_turned(A))
    return solution.diagonal(0, -2, -1).sum(-1)


# -- det ----------------------------------------------------------------------------------------


@lapack.factorisation("LinalgDetBackward0", "result", "LU", "pivots", writes=1)
def linalg_det(A: Array) -> tuple:
    LU, pivots, _ = _factored(A)
    sign = _parity(pivots).astype(A.dtype)
    return unboxed(np.asarray(sign * np.prod(_pivotal(LU), axis=-1))), LU, pivots


def _without_zeros(LU):
    """The factors with zeros on the diagonal of U replaced by the machine epsilon."""
    result = LU.copy()
    places = range(LU.shape[-1])
    diagonal = _pivotal(LU)
    smallest = np.finfo(LU.dtype).eps
    result[..., places, places] = np.where(diagonal == 0, smallest, diagonal)
    return result


def _det_gradient(F, grad, A, LU, pivots, result_conj):
    shape = tuple(A.shape)
    if not math.prod(shape):
        return F.new_zeros(A, shape)
    if shape[-1] == 1:
        return F.expand(F.unsqueeze(F.unsqueeze(grad, -1), -1), shape)
    return F.det_backward(A, LU, pivots, grad, result_conj)


@formula_operation
def det_backward(A, LU, pivots, grad, result_conj):
    """The gradient of matrices from that of their determinants."""
    right = _spread(array_ops, grad * result_conj, A)
    return lu_systems.solved(_without_zeros(LU), pivots, right, True, not is_turned(A))


def _det_backward(A, LU, pivots, grad, result_conj):
    """The recorded gradient; singular matrices, for which the system has no solution, use singular
    values."""
    singular = np.abs(result_conj._raw) < 100 * np.finfo(A._raw.dtype).eps
    if np.all(singular):
        return _by_singular_values(A, grad)
    if not np.any(singular):
        return _by_system(A, grad, result_conj)
    those, others = new(singular), new(~singular)
    result = A.index_put((those,), _by_singular_values(A[those], grad[those]))
    return result.index_put_((others,), _by_system(A[others], grad[others], result_conj[others]))


tensor_ops.det_backward = _det_backward


def _by_system(A, grad, result_conj):
    return solve(tensor_ops.adjoint_matrix(A), _spread(tensor_ops, grad * result_conj, A))


def _by_singular_values(A, grad):
    """The gradient from singular values: the derivative with respect to each is the product of the
    others."""
    U, S, Vh = tensor_ops.linalg_svd(A)
    scale = tensor_ops.conj(det(U) * det(Vh)) * grad
    slopes = tensor_ops.unsqueeze(scale, -1) * products_of_others(tensor_ops, S, S._raw.ndim - 1)
    return tensor_ops.matrix_product(U * tensor_ops.unsqueeze(slopes, -2), Vh)


linalg_det.differentiable("result").gradient(
    A=lambda F, grad, A, LU, pivots, result_conj: _det_gradient(F, grad, A, LU, pivots, result_conj)
).forward(
    result=lambda F, A_t, A, LU, pivots, result: (
        _trace_of_solution(F, A, new(_without_zeros(LU._raw)), pivots, A_t) * result
    )
)


@named_out("_linalg_det")
def det(A, *, out=None):
    """The determinant of square matrices (torch.linalg.det).

    (..., n, n) gives (...). Raises RuntimeError for other shapes and for integers.
    """
    lapack.check_square("linalg.det", A._raw)
    not_implemented.check_floating("linalg.det", A._raw)
    if out is not None:
        set_output(out, A._raw.shape[:-2], A._raw.dtype)
    result = linalg_det(A)[0]
    return stored("_linalg_det", out, result)


@function("det")
def det_of(input):
    """`det` by its older name (torch.det)."""
    return det(input)


# -- logarithms ---------------------------------------------------------------------------------


@lapack.factorisation("LinalgSlogdetBackward0", "sign", "logabsdet", "LU", "pivots", writes=1)
def linalg_slogdet(A: Array) -> tuple:
    LU, pivots, _ = _factored(A)
    diagonal = _pivotal(LU)
    size = np.abs(diagonal)
    with np.errstate(divide="ignore", invalid="ignore"):
        signs = (
            np.where(size == 0, 0, diagonal / size)
            if A.dtype.kind == "c"
            else np.nan_to_num(np.sign(diagonal))  # ATen's sign of NaN is 0
        )
        logabsdet = np.sum(np.log(size), axis=-1)
    sign = _parity(pivots) * np.prod(signs, axis=-1)
    return (
        unboxed(np.asarray(sign, A.dtype)),
        unboxed(np.asarray(logabsdet)),
        LU,
        pivots,
    )


@linalg_slogdet.gradients("A")
def _slogdet_gradient(F, grads, A, LU, pivots, sign):
    of_sign, of_logabsdet = grads
    grad = of_logabsdet
    if F.is_complex(A):
        if of_sign is not None:
            turned = F.mul_scalar(F.imaginary_part(F.conj(of_sign) * sign), 1j)
            grad = -turned if grad is None else grad - turned
        else:
            grad = F.cast_to(grad, F.dtype_of(A))
    if grad is None:
        return None
    return F.solve_adjoint(A, LU, pivots, _spread(F, grad, A), True, not F.is_turned(A))


def _logabsdet_tangent(F, A_t, A, LU, pivots):
    trace = _trace_of_solution(F, A, LU, pivots, A_t)
    return FUNCTIONS["real"](trace) if trace.is_complex() else trace


def _sign_tangent(F, A_t, A, LU, pivots, sign):
    if not A.is_complex():
        return F.zeros_like(sign)
    return F.mul_scalar(F.imaginary_part(_trace_of_solution(F, A, LU, pivots, A_t)), 1j) * sign


linalg_slogdet.differentiable("sign", "logabsdet").forward(
    sign=_sign_tangent, logabsdet=_logabsdet_tangent
)


SignAndLogarithm = return_type("linalg_slogdet", "sign", "logabsdet")
OldSignAndLogarithm = return_type("slogdet", "sign", "logabsdet")


@named_out("_linalg_slogdet")
def slogdet(A, *, out=None):
    """Sign and logarithm of the magnitude of the determinant (torch.linalg.slogdet).

    (..., n, n) gives twice (...). Raises RuntimeError for other shapes, integers and half
    precision.
    """
    lapack.check_square("linalg.slogdet", A._raw)
    not_implemented.check_floating("linalg.slogdet", A._raw, low_precision=False)
    result = SignAndLogarithm(linalg_slogdet(A)[:2])
    return stored("_linalg_slogdet", out, result)


@function("slogdet")
@named_out("_linalg_slogdet")
def slogdet_of(input, *, out=None):
    """`slogdet` by its older name (torch.slogdet)."""
    return stored("_linalg_slogdet", out, OldSignAndLogarithm(slogdet(input)))


@function()
def logdet(input):
    """The logarithm of the determinant, NaN where it is negative (torch.logdet). Errors as
    `slogdet`."""
    lapack.check_square("logdet", input._raw)
    not_implemented.check_floating("logdet", input._raw, low_precision=False)
    sign, logabsdet = slogdet(input)
    if input.is_complex():
        return sign.log() + logabsdet
    return FUNCTIONS["where"](sign == -1, math.nan, logabsdet)
