"""QR factors A = Q R, and the reflections they are made of.

The derivatives follow M. Seeger and others, "Auto-differentiating linear algebra" (2017), and for
matrices with more columns than rows H.-J. Liao and others, "Differentiable programming tensor
networks" (2019); they require independent leading columns.
"""

from __future__ import annotations

import numpy as np

from impl.core.inference_mode import refuses
from impl.core.return_types import return_type
from impl.dispatch import not_implemented
from impl.dispatch.autocast import fp32
from impl.dispatch.definition import Array, function
from impl.dispatch.out import check_castable, fit, named_out, set_output, store, stored
from impl.operators.linalg import lapack
from impl.operators.linalg.triangular_systems import solution

_NEEDS_Q = (
    "The derivative of linalg.qr depends on Q, which is not computed when mode='r'. Please use "
    "linalg.qr(A, mode='reduced') if you are going to differentiate through linalg.qr."
)
_TALL = "The QR decomposition is not differentiable when mode='complete' and nrows > ncols."


def _written_by(args) -> str | None:
    """ATen copies R from a part of the result where it has more columns than rows."""
    rows, columns = args[0]._raw.shape[-2:]
    return "triu" if columns <= rows else None


def _writes(args) -> tuple[int, int]:
    """R is written once more where it has more columns than rows."""
    rows, columns = args[0]._raw.shape[-2:]
    return 1, 1 + (columns > rows)


@lapack.factorisation(
    "LinalgQrBackward0", "Q", "R", autocast="fp32", writes=_writes, written_by=_written_by
)
def linalg_qr(A: Array, mode) -> tuple:
    lapack.require_kernel(A, "geqrf_cpu")
    if mode == "r":
        return np.empty(0, A.dtype), lapack.column_major(np.linalg.qr(A, "r"))
    Q, R = np.linalg.qr(A, mode)
    return lapack.column_major(Q), lapack.column_major(R)


def _check_differentiable(Q, R, mode: str) -> None:
    if mode == "r":
        raise RuntimeError(_NEEDS_Q)
    if mode == "complete" and Q.shape[-2] > R.shape[-1]:
        raise RuntimeError(_TALL)


@linalg_qr.gradients("A")
def _backward(F, grads, Q, R, mode):
    _check_differentiable(Q, R, mode)
    of_Q, of_R = grads
    rows, columns = Q.shape[-2], R.shape[-1]
    inner: Array = None
    if of_R is not None:
        inner = F.matrix_product(of_R, F.adjoint_matrix(R))
    if of_Q is not None:
        product = F.matrix_product(F.adjoint_matrix(Q), of_Q)
        inner = -product if inner is None else inner - product
    if rows >= columns:
        upper = F.triu(inner, 0)
        both = F.with_part_halved(upper + F.adjoint_matrix(upper), "real")
        result = F.matrix_product(Q, both)
        if of_Q is not None:
            result = result + of_Q
        return solution(F, F.adjoint_matrix(R), result, False, False)
    inner = -inner
    lower = F.tril(inner - F.adjoint_matrix(inner), 0)
    if F.is_complex(Q):
        lower = F.with_part_halved(lower, "imag")
    result = F.matrix_product(Q, lower)
    result = solution(F, F.adjoint_matrix(F.narrow(R, -1, 0, rows)), result, False, False)
    beyond = F.new_zeros(result, (*R.shape[:-1], columns - rows))
    result = F.cat([result, beyond], -1)
    return result if of_R is None else result + F.matrix_product(Q, of_R)


def _tangents(F, tangent, Q, R, mode):
    _check_differentiable(Q, R, mode)
    rows, columns = Q.shape[-2], R.shape[-1]
    turned = F.adjoint_matrix(Q)
    if rows >= columns:
        whole = solution(F, R, tangent, True, False)
        part = F.matrix_product(turned, whole)
        upper = F.triu(part + F.adjoint_matrix(part), 0)
        upper = F.with_part_halved(upper, "real")  # the diagonal is real
        return whole - F.matrix_product(Q, upper), F.matrix_product(upper, R)
    part = F.matrix_product(turned, tangent)
    first = F.narrow(R, -1, 0, rows)
    inner = solution(F, first, F.narrow(part, -1, 0, rows), True, False)
    lower = F.tril(inner, -1)
    skew = lower - F.adjoint_matrix(lower)
    if F.is_complex(inner):
        diagonal = F.imaginary_part(F.diagonal(inner, 0, -2, -1))
        skew = skew + F.diag_embed(F.mul_scalar(diagonal, 1j))
    return F.matrix_product(Q, skew), part - F.matrix_product(skew, R)


linalg_qr.forward(
    Q=lambda F, A_t, Q, R, mode: _tangents(F, A_t, Q, R, mode)[0],
    R=lambda F, A_t, Q, R, mode: _tangents(F, A_t, Q, R, mode)[1],
)


Factors = return_type("linalg_qr", "Q", "R")


@fp32
@named_out("linalg_qr")
def qr(A, mode="reduced", *, out=None):
    """Q with orthonormal columns and upper triangular R with A = Q R (torch.linalg.qr).

    (..., m, n) gives (..., m, k) and (..., k, n), where k is the smaller of m and n, or m if the
    mode is "complete"; if it is "r", Q is empty, and nothing can be differentiated. Raises
    RuntimeError for other modes and less than two dimensions.
    """
    lapack.check_matrices("linalg.qr", A._raw)
    not_implemented.check_floating("linalg.qr", A._raw)
    if mode not in ("reduced", "complete", "r"):
        raise RuntimeError(
            f"qr received unrecognized mode '{mode}' but expected one of 'reduced' (default), 'r', "
            "or 'complete'"
        )
    if out is not None:
        *batch, rows, columns = A._raw.shape
        k = rows if mode == "complete" else min(rows, columns)
        if mode == "r":
            set_output(out[0], (0,), A._raw.dtype)
        else:
            lapack.set_matrices(out[0], (*batch, rows, k), A._raw.dtype)
        lapack.set_matrices(out[1], (*batch, k, columns), A._raw.dtype)
    result = Factors(linalg_qr(A, mode))
    return stored("linalg_qr", out, result)


# -- geqrf ----------------------------------------------------------------------------------------


@lapack.factorisation("GeqrfBackward0", "a", "tau", autocast="fp32", writes=1)
def geqrf_pair(self: Array) -> tuple:
    lapack.require_kernel(self, "geqrf_cpu")
    reflections, tau = np.linalg.qr(self, "raw")
    return lapack.column_major(reflections.swapaxes(-1, -2)), np.ascontiguousarray(tau)


geqrf_pair.composes(refuses("geqrf"))


def _refuse(F, grads):
    raise NotImplementedError("the derivative for 'geqrf' is not implemented.")


geqrf_pair.gradient(self=_refuse).forward("unsupported", name="geqrf", invited=True)


Reflections = return_type("geqrf", "a", "tau")


@function()
@named_out("geqrf")
def geqrf(input, *, out=None):
    """R with the vectors of Q's reflections below its diagonal, and the reflections' factors
    (torch.geqrf).

    (..., m, n) gives (..., m, n) and (..., k), k the smaller of m and n. Not differentiable. Raises
    RuntimeError for less than two dimensions.
    """
    if input._raw.ndim < 2:
        raise RuntimeError("torch.geqrf: input must have at least 2 dimensions.")
    if out is not None:
        check_castable("torch.geqrf", out, Reflections((input, input)), "a", "tau")
        factors = (*input._raw.shape[:-2], min(input._raw.shape[-2:]))
        fits = out[1]._raw.shape == factors or not out[1]._raw.size
        if fits and not out[0]._raw.size and all(one.dtype is input.dtype for one in out):
            lapack.fit_empty(out[0], input._raw.shape, input._raw.dtype)
            fit(out[1], factors)
    result = Reflections(geqrf_pair(input))
    if out is None:
        return result
    fit(out[0], input._raw.shape)
    return store("geqrf", out, result)
