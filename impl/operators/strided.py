"""The gradient of `as_strided`: scattered over the memory that input and output cover.

Where the output visits a place several times its gradients add up; where the input itself has
several elements in one place they share the sum (ATen's note on as_strided's backward).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from impl.operator import RAW, TAPED, new
from impl.precision import add_each_at
from impl.storage import extent, strided


class _Part(NamedTuple):
    """Dimensions of size above one, with strides, and where they begin in the common memory."""

    shape: tuple[int, ...]
    strides: tuple[int, ...]
    offset: int

    def end(self) -> int:
        """One past the last place covered."""
        return self.offset + extent(self.shape, self.strides)

    def may_overlap(self) -> bool:
        """Whether, as far as is easily said, two elements share a place."""
        furthest = 0
        for stride, size in sorted(zip(self.strides, self.shape, strict=True)):
            if stride <= furthest:
                return True
            furthest += stride * (size - 1)
        return False

    def places(self) -> np.ndarray:
        index = np.full((), self.offset)
        for n, s in zip(self.shape, self.strides, strict=True):
            index = index[..., None] + np.arange(n) * s
        return index


def _parts(layout, size, stride, storage_offset) -> tuple[_Part, _Part]:
    shape, strides, base = layout
    offset = base if storage_offset is None else storage_offset
    low = min(base, offset)
    kept = [i for i, n in enumerate(size) if n != 1 and stride[i] != 0]
    target = _Part(tuple(size[i] for i in kept), tuple(stride[i] for i in kept), offset - low)
    kept = [i for i, n in enumerate(shape) if n != 1]
    source = _Part(tuple(shape[i] for i in kept), tuple(strides[i] for i in kept), base - low)
    return source, target


def _raw(grad, layout, size, stride, storage_offset):
    shape, strides, _ = layout
    if 0 in size or 0 in shape:
        return np.zeros(shape, grad.dtype)
    source, target = _parts(layout, size, stride, storage_offset)
    summed = tuple(i for i, n in enumerate(size) if n != 1 and stride[i] == 0)
    if summed:
        grad = RAW.sum_dim(grad, summed, False)
    grad = np.reshape(grad, target.shape)
    memory = np.zeros(max(source.end(), target.end()), grad.dtype)
    if target.may_overlap():
        memory = add_each_at(memory, target.places(), grad)
    else:
        strided(memory, target.shape, target.strides, target.offset)[...] = grad
    if source.may_overlap():
        memory = (memory / _visits(source, memory.size)).astype(memory.dtype)
    return strided(memory, shape, strides, source.offset)


def _visits(part: _Part, size: int) -> np.ndarray:
    """How many elements lie in each place; one where there is none, which nobody sees."""
    counts = np.zeros(size, np.int64)
    np.add.at(counts, part.places(), 1)
    return np.maximum(counts, 1)


def _taped(grad, layout, size, stride, storage_offset):
    shape, strides, _ = layout
    if 0 in size or 0 in shape:
        return TAPED.new_zeros(grad, shape)
    source, target = _parts(layout, size, stride, storage_offset)
    for i in range(len(size) - 1, -1, -1):
        if size[i] == 1:
            grad = TAPED.squeeze_dim(grad, i)
        elif stride[i] == 0:
            grad = TAPED.sum_dim(grad, (i,), False)
    memory = TAPED.new_zeros(grad, (max(source.end(), target.end()),))
    if target.may_overlap():
        places = new(target.places().reshape(-1))
        memory.index_add_(0, places, TAPED.reshape(grad, (-1,)))
    else:
        TAPED.as_strided(memory, target.shape, target.strides, target.offset).copy_(grad)
    if source.may_overlap():
        visits = _visits(source, memory._raw.size).astype(memory._raw.dtype)
        memory.div_(new(visits))
    return TAPED.as_strided(memory, shape, strides, source.offset)


RAW.as_strided_backward = _raw
TAPED.as_strided_backward = _taped
