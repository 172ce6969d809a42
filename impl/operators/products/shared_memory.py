"""Products that are written to the memory of a factor, as ATen's kernels make them.

BLAS fills an `out=` with zeros before it reads the factors; the small batched kernel writes one
element after the other, and reads the written ones.
"""

from __future__ import annotations

import numpy as np

from impl.kernels.reduced_precision import widened
from impl.operators.products.addmm import addmm, baddbmm, is_small
from impl.operators.products.matmul import bmm, mm, mv, product


def _blas_product(kinds: str):
    """The product of two factors; BLAS has it for dtypes of these kinds."""

    def compute(out, left, right):
        if out.dtype.kind in kinds:
            out[...] = 0
        return product(left, right)

    return compute


mm.on_shared_memory(_blas_product("fc"))
mv.on_shared_memory(_blas_product("f"))
_large_bmm = _blas_product("fc")


@bmm.on_shared_memory
def _bmm(out, self, mat2):
    return (_one_by_one if is_small(self, mat2) else _large_bmm)(out, self, mat2)


@addmm.on_shared_memory
def _addmm(out, self, mat1, mat2, beta, alpha):
    if beta == 0 and out.dtype.kind in "fc":
        out[...] = 0
    return addmm.kernel(self, mat1, mat2, beta, alpha)


@baddbmm.on_shared_memory
def _baddbmm(out, self, batch1, batch2, beta, alpha):
    if not is_small(batch1, batch2):
        return baddbmm.kernel(self, batch1, batch2, beta, alpha)
    base = np.broadcast_to(self, out.shape)
    return _one_by_one(out, batch1, batch2, base if beta != 0 else None, beta, alpha)


def _one_by_one(out, batch1, batch2, base=None, beta=1, alpha=1):
    for place in np.ndindex(out.shape):
        batch, row, column = place
        with np.errstate(all="ignore"):
            total = widened(batch1[batch, row]) @ widened(batch2[batch, :, column])
            if alpha != 1:
                total = alpha * total
            out[place] = total if base is None else beta * base[place] + total
    return out.copy()
