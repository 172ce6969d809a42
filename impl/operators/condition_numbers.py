"""Condition numbers of matrices in several norms (torch.linalg.cond)."""

from __future__ import annotations

import math

import numpy as np

from impl import inplace
from impl.autocast import raises
from impl.dtypes import real_of
from impl.operator import TAPED, new
from impl.operators import lapack
from impl.operators.linear_systems import linalg_inv_ex
from impl.operators.norms import matrix_norm
from impl.operators.singular_values import svdvals
from impl.tensor import Tensor


@raises
def cond(A, p=None, *, out=None):
    """The condition number in a norm, of shape (...): by default the largest singular value by the
    smallest (torch.linalg.cond).

    `p` is 2 or -2 (any matrices), 1, -1, inf, -inf, "fro" or "nuc" (square ones; inf where they
    have no inverse). Raises RuntimeError for others.
    """
    result = _condition_number(A, 2 if p is None else p)
    return result if out is None else inplace.store("linalg_cond", out, result)


def _condition_number(A: Tensor, p) -> Tensor:
    if A._raw.ndim < 2:
        raise RuntimeError("linalg.cond: The input tensor must have at least 2 dimensions.")
    known = p in ("fro", "nuc") if isinstance(p, str) else abs(p) in (1, 2, math.inf)
    if not known:
        raise RuntimeError(f"linalg.cond got an invalid norm type: {p}")
    if not A._raw.size:
        return new(np.zeros(A._raw.shape[:-2], real_of(A.dtype).numpy))
    if p in (2, -2):
        values = svdvals(A)
        largest, smallest = (TAPED.narrow(values, -1, start, 1) for start in (0, -1))
        return TAPED.squeeze_dim(largest / smallest if p == 2 else smallest / largest, -1)
    lapack.check_square(f"linalg.cond(ord={_named(p)})", A._raw)
    if p == "nuc":
        values = svdvals(A)
        return values.sum(-1) * values.reciprocal().sum(-1)
    inverse, infos = linalg_inv_ex(A)
    # torch marks what has no inverse in place, after the inverse was saved, so that there is no
    # backward pass through these norms.
    inverse.masked_fill_((infos > 0).unsqueeze(-1).unsqueeze(-1), math.inf)
    result = matrix_norm(A, p) * matrix_norm(inverse, p)
    return result.nan_to_num_(math.inf, math.inf, -math.inf)


def _named(p) -> str:
    """An order as C++ prints it."""
    return f"{p:f}" if isinstance(p, float) else str(p)
