"""Allocation of new tensors: in the layout of another tensor, and zeros and ones for formulas."""

from __future__ import annotations

import math

import numpy as np

from impl.core.devices import CPU, META
from impl.core.dtypes import BY_NUMPY
from impl.core.memory_formats import preserve_format, strided
from impl.core.meta_arrays import MetaArray, is_meta, meta_strided
from impl.core.registry import array_ops, tensor_ops
from impl.core.state import STATE
from impl.core.storage import address
from impl.core.strides import (
    contiguous_strides,
    element_strides,
    empty_strided,
    is_dense,
    strides_of,
)
from impl.core.tensor_iterator import elementwise_strides
from impl.tensor.batched_tensor import BatchedTensor, levels_of, repeated
from impl.tensor.sparse_tensor import sparse_tensor
from impl.tensor.tensor import Tensor, is_asked, new


def over_view(raw) -> Tensor:
    """A tensor over a raw value that may be a view: one with gaps between its elements lies in the
    memory of its owner, behind the beginning of that."""
    tensor = new(raw, strides_of(raw))
    if tensor._strides is not None and raw.base is not None:
        tensor._offset = (address(raw) - address(tensor._storage.flat)) // raw.itemsize
    return tensor


def ordered_like(value: np.ndarray, pattern: np.ndarray) -> np.ndarray:
    """A copy of `value` whose strides have the same order as those of `pattern`."""
    result = np.empty_like(pattern, dtype=value.dtype)
    result[...] = value
    return result


def dense_strides(tensor: Tensor) -> tuple[int, ...] | None:
    """The strides of a dense tensor laid out like `tensor`; None for row-major.

    A dense tensor keeps its strides; any other keeps the order of its strides (ATen's empty_like).
    """
    shape, strides = tensor._raw.shape, tensor._strides
    if strides is None or is_dense(shape, strides):
        return strides
    return elementwise_strides(shape, [(shape, strides)])


def copied_layout(args) -> tuple[int, ...] | None:
    """The strides of `empty_like` of the first argument: of a result that ATen allocates so, for
    `Operator.laid_out_as`."""
    return dense_strides(args[0])


def strides_in(tensor: Tensor, format) -> tuple[int, ...] | None:
    """The strides of a copy of `tensor` in a memory format; None for row-major."""
    if format is None or format is preserve_format:
        return dense_strides(tensor)
    return format.strides(tensor._raw.shape)


def preserved(raw) -> np.ndarray:
    """A dense copy of a raw value that keeps the order of the strides (preserve_format)."""
    if is_meta(raw):
        return raw.copy("K")
    if raw.ndim < 2 or raw.flags.c_contiguous or not raw.size:
        return np.array(raw, order="C")
    dense = elementwise_strides(raw.shape, [(raw.shape, element_strides(raw))])
    if dense is None:
        return np.array(raw, order="C")
    copy = empty_strided(raw.shape, dense, raw.dtype)
    copy[...] = raw
    return copy


def meta_twin(tensor: Tensor, dtype=None, strides=None) -> MetaArray:
    """The MetaArray of the sizes, strides and dtype of a tensor of any device, or of others."""
    dtype = tensor._raw.dtype if dtype is None else dtype
    return meta_strided(tensor._raw.shape, dtype, tensor.stride() if strides is None else strides)


def empty_like(tensor: Tensor, dtype=None, format=None, place=None) -> Tensor:
    """An uninitialised tensor with the sizes of `tensor`, and the order of its strides or a memory
    format, on its device or another `place`.

    Raises NotImplementedError for a sparse tensor.
    """
    if tensor.is_sparse:
        raise NotImplementedError("a tensor like a sparse one")
    if type(tensor) is BatchedTensor:
        return tensor._over(empty_like(tensor._value, dtype, format, place))
    strides = strides_in(tensor, format)
    dtype = tensor._raw.dtype if dtype is None else dtype
    if (tensor.device if place is None else place) == META:
        row_major = contiguous_strides(tensor._raw.shape)
        steps = row_major if strides is None else strides
        return new(meta_twin(tensor, dtype, steps), steps)
    if strides is None:
        return new(np.empty(tensor._raw.shape, dtype))
    return new(empty_strided(tensor._raw.shape, strides, dtype), strides)


def _filled_like(name: str, value):
    def like(tensor: Tensor) -> Tensor:
        if is_asked(tensor):
            return tensor_ops.dispatched_aten(name, tensor)
        if type(tensor) is BatchedTensor:
            return tensor._over(like(tensor._value))
        if tensor.is_sparse and not value:
            return sparse_tensor(tensor._raw.without_elements())
        result = empty_like(tensor)
        result._raw[...] = value
        return result

    return like


def _zeros_like(value):
    # np.zeros_like would make an expanded dimension the innermost one.
    repeats = isinstance(value, np.ndarray) and value.ndim > 1 and 0 in value.strides
    return np.zeros_like(preserved(value) if repeats else value)


def _zeros(shape, dtype) -> Tensor:
    """Zeros for a formula, on the device of the pass that runs it."""
    on_meta = getattr(STATE.graph_task, "place", CPU) == META
    if STATE.dispatch_modes:
        options = {"dtype": BY_NUMPY[dtype], "layout": strided, "device": META if on_meta else CPU}
        return tensor_ops.dispatched_aten("zeros", list(shape), **options)
    result = new(MetaArray(shape, dtype) if on_meta else np.zeros(shape, dtype))
    result._storage.version = 1  # torch's kernel fills them in place
    return result


def _new_zeros(value: Tensor, shape) -> Tensor:
    """Zeros of the dtype and the device of a tensor; of a batched one for each example."""
    if is_asked(value):
        return tensor_ops.dispatched_aten("new_zeros", value, list(shape))
    dtype, levels = value._raw.dtype, levels_of(value)
    if levels and not value.is_meta:
        strides = contiguous_strides(tuple(shape))
        return repeated(np.zeros(math.prod(shape), dtype), shape, strides, 0, levels)
    return new(MetaArray(shape, dtype) if value.is_meta else np.zeros(shape, dtype))


array_ops.zeros = lambda shape, dtype: np.zeros(shape, dtype)
tensor_ops.zeros = _zeros
array_ops.new_zeros = lambda value, shape: np.zeros(shape, value.dtype)
tensor_ops.new_zeros = _new_zeros
array_ops.zeros_like = _zeros_like
tensor_ops.zeros_like = _filled_like("zeros_like", 0)
array_ops.ones_like = lambda value: np.ones_like(value)
tensor_ops.ones_like = _filled_like("ones_like", 1)
