"""The parts of an element-wise result whose target shares memory with itself or with an operand in
another place: each part is made when those before it are written, as TensorIterator's loops do."""

from __future__ import annotations

import warnings

import numpy as np

from impl.core.strides import may_overlap
from impl.core.tensor_iterator import dimension_order
from impl.dispatch.type_promotion import result_dtype
from impl.kernels.vectorized import VECTOR
from impl.tensor.lazy_conj import LazyConjTensor
from impl.tensor.memory_overlap import is_same_memory, share_memory
from impl.tensor.tensor import Tensor


def parts_in_order(op, target: Tensor, args, raws):
    """The parts of the operator's result, each with its key, in TensorIterator's order; None where
    the order does not show."""
    if isinstance(target, LazyConjTensor):  # is copied before
        return None
    shared = [i for i in op.tensor_positions if _is_shared(target, args[i])]
    strides, shape = target._strides, target._raw.shape
    if not shared and (strides is None or not may_overlap(shape, strides)):
        return None
    operands = [*raws]
    common = None
    if op.promote is not None:
        present = [args[i] for i in op.tensor_positions if args[i] is not None]
        common = result_dtype([a._raw if isinstance(a, Tensor) else a for a in present]).numpy
    for i in op.tensor_positions:
        if isinstance(args[i], Tensor) and args[i]._storage.buffer is target._storage.buffer:
            operand = args[i]._array()  # of one element, too
            cast = common is not None and operand.dtype != common
            operands[i] = operand.copy() if cast else operand  # which is done before
    return _parts(op, target, operands, bool(shared))


def _is_shared(target: Tensor, operand) -> bool:
    """Whether an operand has memory of the target in another place."""
    return share_memory(target, operand) and not is_same_memory(target, operand)


def _parts(op, target: Tensor, operands, shared: bool):
    shape = target._raw.shape
    places = [i for i in op.tensor_positions if isinstance(operands[i], np.ndarray)]
    arrays = {i: np.broadcast_to(operands[i], shape) for i in places}
    steps = [[step // a.itemsize for step in a.strides] for a in arrays.values()]
    laid_out = [(shape, target.stride()), *((shape, step) for step in steps)]
    order = dimension_order(shape, laid_out)
    key: list = [slice(None)] * len(shape)
    outer = order[:0:-1]
    pieces = [slice(None)]
    if shared and shape:
        inner = order[0]
        vectors = target.stride()[inner] == 1 and all(step[inner] in (0, 1) for step in steps)
        pieces = _pieces(shape[inner], 2 * VECTOR // target._raw.itemsize if vectors else 1)
    for place in np.ndindex(*(shape[dim] for dim in outer)):
        for dim, index in zip(outer, place, strict=True):
            key[dim] = index
        for piece in pieces:
            if order:
                key[order[0]] = piece
            part = [*operands]
            for i, array in arrays.items():
                part[i] = array[tuple(key)]
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # the whole result has warned
                yield tuple(key), op._call_kernel(part)


def _pieces(size: int, vector: int) -> list[slice]:
    """A row in the pieces of a vectorised loop: two vectors each, then single elements."""
    whole = size - size % vector
    starts = range(0, whole, vector)
    return [slice(s, s + vector) for s in starts] + [slice(s, s + 1) for s in range(whole, size)]
