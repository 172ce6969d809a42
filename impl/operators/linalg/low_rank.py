"""Decompositions of low rank by random projections, composed as in torch.

N. Halko, P.-G. Martinsson and J. Tropp, "Finding structure with randomness", 2009.
"""

from __future__ import annotations

from impl.core.dtypes import FLOATING, bfloat16, float32
from impl.core.registry import tensor_ops
from impl.dispatch.definition import function
from impl.factories.creation.drawn import randn
from impl.operators.linalg.qr import qr
from impl.operators.linalg.singular_values import decomposed
from impl.operators.products.products import matmul
from impl.tensor.tensor import Tensor


def _basis(A: Tensor, rank: int, rounds: int, M: Tensor | None) -> Tensor:
    """Orthonormal columns whose span nearly contains that of A - M (algorithm 4.4)."""
    kind = A.dtype if A.dtype.category >= FLOATING and A.dtype is not bfloat16 else float32

    def projected(matrix: Tensor, mean: Tensor | None, onto: Tensor) -> Tensor:
        result = matmul(matrix, onto)
        if mean is not None:
            result = result - matmul(mean, onto)
        return qr(result)[0]

    result = projected(A, M, randn(A._raw.shape[-1], rank, dtype=kind))
    for _ in range(rounds):
        result = projected(A.mH, None if M is None else M.mH, result)
        result = projected(A, M, result)
    return result


def _decomposed(A: Tensor, rank: int, rounds: int, M: Tensor | None) -> tuple:
    rows, columns = A._raw.shape[-2:]
    if M is not None:
        M = tensor_ops.expand(M, A._raw.shape)
    if rows < columns:
        A, M = A.mH, None if M is None else M.mH
    Q = _basis(A, rank, rounds, M)
    B = matmul(Q.mH, A)
    if M is not None:
        B = B - matmul(Q.mH, M)
    U, S, Vh = decomposed(B, False)
    U, V = matmul(Q, U), Vh.mH
    return (V, S, U) if rows < columns else (U, S, V)


@function(method=False)
def svd_lowrank(A, q=6, niter=2, M=None):
    """U (..., m, q), S (..., q) and V (..., n, q): approximately the best decomposition of A - M of
    rank `q`, after `niter` power iterations (torch.svd_lowrank). Draws random numbers."""
    return _decomposed(A, 6 if q is None else q, 2 if niter is None else niter, M)


@function(method=False)
def pca_lowrank(A, q=None, center=True, niter=2):
    """`svd_lowrank` of A, less the mean of its rows if `center` (torch.pca_lowrank).

    Raises ValueError for a `q` beyond the sizes and a negative `niter`.
    """
    rows, columns = A._raw.shape[-2:]
    if q is None:
        q = min(6, rows, columns)
    elif not 0 <= q <= min(rows, columns):
        raise ValueError(
            f"q(={q}) must be non-negative integer and not greater than min(m, n)="
            f"{min(rows, columns)}"
        )
    if niter < 0:
        raise ValueError(f"niter(={niter}) must be non-negative integer")
    if center:
        A = A - A.mean((-2,), True)
    return _decomposed(A, q, niter, None)
