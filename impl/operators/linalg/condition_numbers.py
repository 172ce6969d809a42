"""Condition numbers of matrices in several norms (torch.linalg.cond)."""

from __future__ import annotations

import math

import numpy as np

from impl.core.dtypes import real_of
from impl.core.registry import tensor_ops
from impl.dispatch.autocast import fp32
from impl.dispatch.out import check_castable, copy_out
from impl.operators.linalg import lapack
from impl.operators.linalg.linear_systems import inv_ex
from impl.operators.linalg.norms import matrix_norm
from impl.operators.linalg.singular_values import svdvals
from impl.tensor.tensor import Tensor, new


@fp32
def cond(A, p=None, *, out=None):
    """The condition number in a norm, of shape (...): by default the largest singular value by the
    smallest (torch.linalg.cond).

    `p` is 2 or -2 (any matrices), 1, -1, inf, -inf, "fro" or "nuc" (square ones; inf where they
    have no inverse). Raises ValueError for others.
    """
    if out is None:
        return _condition_number(A, 2 if p is None else p)
    check_castable("linalg.cond", out, new(np.empty(0, A._raw.real.dtype)))
    result = _condition_number(A, 2 if p is None else p)
    return copy_out("linalg_cond", out, result)


def _condition_number(A: Tensor, p) -> Tensor:
    if isinstance(p, str):
        lapack.check_square(f"linalg.cond(ord={p})", A._raw)
    if A._raw.ndim < 2:
        raise RuntimeError("linalg.cond: The input tensor must have at least 2 dimensions.")
    if isinstance(p, complex):
        raise ValueError("linalg.cond: Expected a non-complex scalar as the order of norm.")
    known = p in ("fro", "nuc") if isinstance(p, str) else abs(p) in (1, 2, math.inf)
    if not known:
        shown = p if isinstance(p, str) else f"{p:g}"
        raise ValueError(f"linalg.cond got an invalid norm type: {shown}")
    if not A._raw.size:
        return new(np.empty(A._raw.shape[:-2], real_of(A.dtype).numpy)).zero_()
    if p in (2, -2):
        values = svdvals(A)
        largest, smallest = (tensor_ops.narrow(values, -1, start, 1) for start in (0, -1))
        return tensor_ops.squeeze_dim(largest / smallest if p == 2 else smallest / largest, -1)
    lapack.check_square(f"linalg.cond(ord={_named(p)})", A._raw)
    if p == "nuc":
        values = svdvals(A)
        return values.sum(-1) * values.reciprocal().sum(-1)
    inverse, infos = inv_ex(A)
    # torch overwrites inverses of singular matrices in place, after the inverse was saved; backward
    # through these norms therefore raises.
    inverse.masked_fill_((infos > 0).unsqueeze(-1).unsqueeze(-1), math.inf)
    result = matrix_norm(A, p) * matrix_norm(inverse, p)
    return result.nan_to_num_(math.inf, math.inf, -math.inf)


def _named(p) -> str:
    """The order in C++'s notation, for messages."""
    return f"{p:f}" if isinstance(p, float) else str(p)
