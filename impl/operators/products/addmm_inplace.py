"""Matrix products added in place: `addmm_`, `addmv_`, `addr_`, `addbmm_`, `baddbmm_`."""

from __future__ import annotations

from impl.core.sizes import check_expansion
from impl.dispatch.definition import function
from impl.operators.products.addmm import (
    addbmm,
    addmm,
    addmv,
    addr,
    baddbmm,
    check_vectors,
)


def _check_written_size(target, size) -> None:
    """Raise RuntimeError when the product does not have the size of the tensor written to."""
    if [*target._raw.shape] != [*size]:
        raise RuntimeError(
            f"Bad in-place call: input tensor size {[*target._raw.shape]} and output tensor size "
            f"{[*size]} should match"
        )


@function("addmm_", torch=False)
def addmm_inplace(self, mat1, mat2, *, beta=1, alpha=1):
    """`addmm` written into the tensor, which must have the product's size."""
    a, b = mat1._raw.shape, mat2._raw.shape
    if len(a) == len(b) == 2 and a[1] == b[0] and self.dtype is mat1.dtype is mat2.dtype:
        _check_written_size(self, (a[0], b[1]))
    return addmm.inplace(self, mat1, mat2, beta, alpha)


@function("addmv_")
def addmv_inplace(self, mat, vec, *, beta=1, alpha=1):
    """`addmv` written into the tensor, which must have the product's size."""
    a, b = mat._raw.shape, vec._raw.shape
    fits = len(a) == 2 and a[1:] == b and self._raw.ndim <= 1 and self._raw.size in (1, a[0])
    if fits and self.dtype is mat.dtype is vec.dtype:
        _check_written_size(self, a[:1])
    return addmv.inplace(self, mat, vec, beta, alpha)


@function("addr_", torch=False)
def addr_inplace(self, vec1, vec2, *, beta=1, alpha=1):
    """`addr` written into the tensor, which must have the product's size."""
    check_vectors(vec1, vec2)
    if self._raw.ndim != 2:
        raise RuntimeError(f"2D tensor expected, got {self._raw.ndim}D tensor for input")
    sizes = [[*value._raw.shape] for value in (self, vec1, vec2)]
    if sizes[0] != sizes[1] + sizes[2]:
        raise RuntimeError("size mismatch, input: {}, v1: {}, v2: {}".format(*sizes))
    return addr.inplace(self, vec1, vec2, beta, alpha)


@function("addbmm_", torch=False)
def addbmm_inplace(self, batch1, batch2, *, beta=1, alpha=1):
    """`addbmm` written into the tensor, which must have the product's size."""
    return addbmm.inplace(self, batch1, batch2, beta, alpha)


@function("baddbmm_", torch=False)
def baddbmm_inplace(self, batch1, batch2, *, beta=1, alpha=1):
    """`baddbmm` written into the tensor, which must have the product's size."""
    a, b = batch1._raw.shape, batch2._raw.shape
    if len(a) == len(b) == 3 and (a[0], a[2]) == b[:2]:
        size = (a[0], a[1], b[2])
        check_expansion(self._raw.shape, self.dtype, size)
        if self.dtype is batch1.dtype:
            if self.dtype is not batch2.dtype:
                raise RuntimeError(
                    f"Bad in-place call: input tensor dtype {self.dtype.c_name} and output tensor "
                    f"dtype {batch2.dtype.c_name} should match"
                )
            _check_written_size(self, size)
    return baddbmm.inplace(self, batch1, batch2, beta, alpha)
