"""The strides of element-wise results (ATen/TensorIterator.cpp)."""

from __future__ import annotations

from itertools import pairwise

from impl.core.memory_formats import channels_last
from impl.core.strides import contiguous_strides, is_contiguous, is_dense


def elementwise_strides(shape, operands) -> tuple[int, ...] | None:
    """The strides of an element-wise result over `operands` [(shape, strides), ...].

    Operands of equal shape that are all contiguous, all channels last, or all dense with equal
    strides, determine the layout (TensorIterator's fast setup). Otherwise the dimensions are sorted
    by the first operand whose strides differ; a broadcast dimension, of stride 0, is skipped. None
    stands for row-major.
    """
    ndim = len(shape)
    if all(s == shape for s, _ in operands):
        if all(is_contiguous(s, st) for s, st in operands):
            return None
        if ndim == 4 and all(channels_last.describes(s, st) for s, st in operands):
            return channels_last.strides(shape)
        first = operands[0][1]
        if is_dense(shape, first) and all(st == first for _, st in operands):
            return first
    order = dimension_order(shape, operands)
    if order == list(range(ndim - 1, -1, -1)):
        return None
    strides, step = [0] * ndim, 1
    for dim in order:
        strides[dim] = step
        step *= shape[dim]  # may become 0, unlike in row-major strides
    result = tuple(strides)
    return None if result == contiguous_strides(shape) else result


def dimension_order(shape, operands) -> list[int]:
    """The dimensions in the order in which TensorIterator goes through them, innermost first."""
    ndim = len(shape)
    aligned = []
    for op_shape, op_strides in operands:
        pad = ndim - len(op_shape)
        aligned.append(
            [0] * pad
            + [
                0 if n == 1 and shape[pad + i] != 1 else op_strides[i]
                for i, n in enumerate(op_shape)
            ]
        )
    order = list(range(ndim - 1, -1, -1))
    for i in range(1, ndim):
        right = i
        for left in range(i - 1, -1, -1):
            comparison = _compare(order[left], order[right], shape, aligned)
            if comparison > 0:
                order[left], order[right] = order[right], order[left]
                right = left
            elif comparison < 0:
                break
    return order


def is_unambiguous(shape, strides, order: list[int]) -> bool:
    """Whether the strides grow from each dimension of an order to the next."""
    return all(_compare(a, b, shape, [strides]) == -1 for a, b in pairwise(order))


def _compare(a: int, b: int, shape, aligned) -> int:
    for strides in aligned:
        if strides[a] == 0 or strides[b] == 0:
            continue
        if strides[a] != strides[b]:
            return -1 if strides[a] < strides[b] else 1
        if shape[a] > shape[b]:
            return 1
    return 0
