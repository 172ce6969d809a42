"""Accumulation of sparse gradients (accumulateGrad in accumulate_grad.h)."""

from __future__ import annotations

from impl.core.ownership import is_unshared
from impl.core.sparse_array import SparseArray
from impl.tensor.sparse_tensor import over
from impl.tensor.tensor import Tensor


def first(gradient: SparseArray, unshared: bool) -> Tensor:
    """The first gradient of a leaf, which is sparse: taken over if nothing else holds it or its
    parts, else copied.

    A gradient that is taken over is not known to be coalesced, unless it has less than two
    elements.
    """
    indices, values = gradient.indices, gradient.values
    alone = unshared and is_unshared(indices, holders=1) and is_unshared(values, holders=1)
    if alone and indices.flags.c_contiguous and values.flags.c_contiguous:
        return over(SparseArray(indices, values, gradient.shape))
    return over(copied(gradient))


def copied(raw: SparseArray) -> SparseArray:
    """The same elements in new memory."""
    return SparseArray(raw.indices.copy(), raw.values.copy(), raw.shape, raw.coalesced)


def accumulate_into(leaf: Tensor, held: Tensor, gradient) -> None:
    """Add a gradient to a sparse `.grad`: in place if it is sparse, else as a new dense tensor."""
    total = held._raw + gradient
    if type(total) is not SparseArray:
        leaf._own_grad = over(total)
        return
    held._raw = total
    held._storage.version += 1
