"""Reading and writing at flat indices, those of a tensor's elements in row-major order."""

from __future__ import annotations

import functools

import numpy as np

from impl.core.dtypes import BY_NUMPY
from impl.core.registry import array_ops, tensor_ops
from impl.core.strides import element_strides
from impl.core.tensor_iterator import elementwise_strides
from impl.dispatch.definition import (
    Array,
    counted,
    formula_operation,
    operator,
    outside_transforms,
    written,
)
from impl.dispatch.facts import MemoryOverlap
from impl.dispatch.not_implemented import require_long
from impl.kernels.reduced_precision import add_each_at
from impl.operators.indexing.out_of_range import set_at, stopped
from impl.tensor.allocation import ordered_like, preserved


def _flat_index(size: int, index):
    wrong = (index < -size) | (index >= size)
    if wrong.any():
        value = index[wrong].reshape(-1)[0] if index.ndim else index
        raise IndexError(
            f"out of range: tried to access index {int(value)} on a tensor of {size} elements."
        )
    return index


@operator(
    out=True,
    numbers=False,
    memory=MemoryOverlap(disjoint=True, operands="all"),
    batching="fallback",
)
def take(self: Array, index: Array) -> Array:
    """The elements at flat (row-major) indices, in the shape of `index` (torch.take).

    Raises IndexError out of range, RuntimeError for an index that is not int64.
    """
    _taken_output(self, index)
    return np.reshape(self, -1)[_flat_index(self.size, index)]


@operator(
    writes=2,
    inplace=True,
    fresh=True,
    numbers=False,
    memory=MemoryOverlap(disjoint="late"),
    batching="fallback",
)
def put(self: Array, index: Array, source: Array, accumulate=False) -> Array:
    """A copy with `source` written at flat indices, or added (torch.put).

    Raises IndexError out of range, RuntimeError when the counts or dtypes differ.
    """
    require_long("put_", index)
    if source.dtype != self.dtype:
        raise RuntimeError(
            "put_(): self and source expected to have the same dtype, but got self.dtype = "
            f"{BY_NUMPY[self.dtype].legacy} and source.dtype = {BY_NUMPY[source.dtype].legacy}"
        )
    if index.size != source.size:
        raise IndexError(
            "put_(): Expected source and index to have the same number of elements, but got "
            f"source.numel() = {source.size}, index.numel() = {index.size}"
        )
    if index.size and not self.size:
        raise IndexError("put_(): Tried to put elements into an empty tensor")
    result = np.array(self, order="C")
    flat = result.reshape(-1)
    values = np.reshape(source, -1)
    write = add_each_at if accumulate else set_at
    try:
        places = _flat_index(flat.size, index).reshape(-1)
    except IndexError as error:
        raise stopped(error, flat, (index.reshape(-1),), values, write)  # noqa: B904
    write(flat, places, values)
    return ordered_like(result, preserved(self)) if self.ndim > 1 else result


def _put_gradient(F, grad, index, source_shape, source_dtype, accumulate):
    if accumulate:
        return grad
    return F.put(grad, index, F.zeros(source_shape, source_dtype), False)


@formula_operation
def take_backward(grad, self, index):
    result = array_ops.zeros_like(self)
    result[...] = array_ops.put(result, index, grad, True)
    return result


tensor_ops.take_backward = lambda grad, self, index: counted(
    put(tensor_ops.zeros_like(self), index, grad, True), outside_transforms()
)


def _check_taken_out(out, self, index) -> None:
    require_long("take", index)
    if out != self.dtype:
        raise RuntimeError(
            "take(): self and out expected to have the same dtype, but got self.dtype = "
            f"{BY_NUMPY[self.dtype].legacy} and out.dtype = {BY_NUMPY[out].legacy}"
        )


take.checks_out(_check_taken_out, first=True)


@functools.partial(take.structured, late=True)
def _taken_output(self, index):
    require_long("take", index)
    if not self.size and index.size:
        raise IndexError("take(): tried to take from an empty tensor")
    layout = index.shape, element_strides(index)
    return index.shape, None, elementwise_strides(index.shape, [layout])


take.index_position = take.position["index"]
take.gradient(
    self=written(
        lambda F, grad, self, index: F.take_backward(grad, self, index), outside_transforms
    )
)
take.forward("linear")
put.index_position = put.position["index"]
put.composes(lambda self, index, source, accumulate: self.clone().put_(index, source, accumulate))
put.gradient(
    self=_put_gradient,
    source=lambda F, grad, index, source: F.reshape(F.take(grad, index), source.shape),
)
put.forward("reapplied")
