"""Decompositions of low rank by random projections (`torch._lowrank`).

N. Halko, P.-G. Martinsson and J. Tropp, "Finding structure with randomness", 2009.
"""

from __future__ import annotations

from impl.core.dtypes import float16, float32, float64
from impl.core.registry import C
from impl.tensor.overridable import overridable
from impl.tensor.tensor import Tensor


def _matmul(A, B):
    """The product. Raises TypeError where the first factor is no tensor."""
    if not isinstance(A, Tensor):
        raise TypeError(f"expected Tensor but got {type(A)}")
    return C.matmul(A, B)


def _floating_dtype(A):
    return A.dtype if A.dtype in (float16, float32, float64) else float32


def _basis(A, q, niter, M):
    """Orthonormal columns whose span nearly contains that of A - M (algorithm 4.4)."""
    niter = 2 if niter is None else niter
    kind = A.dtype if A.is_complex() else _floating_dtype(A)

    def projected(matrix, mean, onto):
        result = _matmul(matrix, onto)
        if mean is not None:
            result = result - _matmul(mean, onto)
        return C.linalg_qr(result).Q

    result = projected(A, M, C.randn(A.shape[-1], q, dtype=kind, device=A.device))
    for _ in range(niter):
        result = projected(A.mH, None if M is None else M.mH, result)
        result = projected(A, M, result)
    return result


@overridable("A", "M")
def svd_lowrank(A, q=6, niter=2, M=None):
    """U (..., m, q), S (..., q) and V (..., n, q): approximately the best decomposition of A - M of
    rank `q`, after `niter` power iterations (torch.svd_lowrank). Draws random numbers."""
    q = 6 if q is None else q
    rows, columns = A.shape[-2:]
    if M is not None:
        M = M.broadcast_to(A.size())
    if rows < columns:
        A, M = A.mH, None if M is None else M.mH
    Q = _basis(A, q, niter, M)
    B = _matmul(Q.mH, A)
    if M is not None:
        B = B - _matmul(Q.mH, M)
    U, S, Vh = C.linalg_svd(B, full_matrices=False)
    U, V = Q.matmul(U), Vh.mH
    return (V, S, U) if rows < columns else (U, S, V)


@overridable("A")
def pca_lowrank(A, q=None, center=True, niter=2):
    """`svd_lowrank` of A, less the mean of its rows if `center` (torch.pca_lowrank).

    Raises ValueError for a `q` beyond the sizes and a negative `niter`.
    """
    rows, columns = A.shape[-2:]
    if q is None:
        q = min(6, rows, columns)
    elif not (q >= 0 and q <= min(rows, columns)):
        raise ValueError(
            f"q(={q}) must be non-negative integer and not greater than min(m, n)="
            f"{min(rows, columns)}"
        )
    if not niter >= 0:
        raise ValueError(f"niter(={niter}) must be non-negative integer")
    return svd_lowrank(A - A.mean(dim=(-2,), keepdim=True) if center else A, q, niter)
