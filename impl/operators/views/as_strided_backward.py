"""The gradient of `as_strided`: the cotangent scattered into memory that covers input and output.

Gradients of output elements at one address add up; input elements at one address share the sum
evenly (ATen's note "as_strided Backward and layout-aware/agnostic autograd").
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from impl.core.registry import array_ops, tensor_ops
from impl.core.strides import extent, may_overlap, strided
from impl.kernels.reduced_precision import add_each_at
from impl.tensor.tensor import new


class _Part(NamedTuple):
    """The dimensions of size above one, their strides, and their offset in the common memory."""

    shape: tuple[int, ...]
    strides: tuple[int, ...]
    offset: int

    def end(self) -> int:
        """The address after the last element."""
        return self.offset + extent(self.shape, self.strides)

    def may_overlap(self) -> bool:
        """Whether two elements may share an address; conservative, like ATen's test."""
        return may_overlap(self.shape, self.strides)

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
        grad = array_ops.sum_dim(grad, summed, False)
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
    """The number of elements at each address, a divisor; 1 at addresses without elements."""
    counts = np.zeros(size, np.int64)
    np.add.at(counts, part.places(), 1)
    return np.maximum(counts, 1)


def _taped(grad, layout, size, stride, storage_offset):
    shape, strides, _ = layout
    if 0 in size or 0 in shape:
        return tensor_ops.new_zeros(grad, shape)
    source, target = _parts(layout, size, stride, storage_offset)
    for i in range(len(size) - 1, -1, -1):
        if size[i] == 1:
            grad = tensor_ops.squeeze_dim(grad, i)
        elif stride[i] == 0:
            grad = tensor_ops.sum_dim(grad, (i,), False)
    memory = tensor_ops.new_zeros(grad, (max(source.end(), target.end()),))
    if target.may_overlap():
        places = new(target.places().reshape(-1))
        memory.index_add_(0, places, tensor_ops.reshape(grad, (-1,)))
    else:
        tensor_ops.as_strided(memory, target.shape, target.strides, target.offset).copy_(grad)
    if source.may_overlap():
        visits = _visits(source, memory._raw.size).astype(memory._raw.dtype)
        memory.div_(new(visits))
    return tensor_ops.as_strided(memory, shape, strides, source.offset)


array_ops.as_strided_backward = _raw
tensor_ops.as_strided_backward = _taped
