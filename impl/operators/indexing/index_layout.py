"""The shape and the layout of the result of advanced indexing (ATen's AdvancedIndex)."""

from __future__ import annotations

import numpy as np

from impl.core.sizes import broadcast_shapes
from impl.operators.views.shape import view_
from impl.tensor.geometry import Geometry


def index_layout(args):
    """The (shape, strides) pairs that TensorIterator sees for `input[indices]`: the input, in which
    the indexed dimensions have the shape of the indices and strides of 0, and each index, with
    dimensions of size one before and after. None for row-major."""
    input, indices = args
    shape = input._raw.shape
    places = _places(indices)
    places += [None] * (len(shape) - len(places))
    given = [place for place in places if place is not None]
    common = broadcast_shapes(*(sizes for sizes, _ in given))
    if _is_plain(input, indices, common):
        return None
    before, after = _dims_beside(places, len(shape))
    steps = input.stride()

    def sides(values, between):
        return (*(values[d] for d in before), *between, *(values[d] for d in after))

    ones = [1] * len(shape)
    operands = [(sides(shape, common), sides(steps, (0,) * len(common)))]
    for sizes, strides in given:
        own = Geometry(common, _expanded(sizes, strides, common), 0)
        reshaped = view_.geometry(own, sides(ones, common))
        operands.append((reshaped.shape, reshaped.strides))
    return operands


def indexed_shape(shape, places) -> tuple[int, ...]:
    """The shape of the elements at `places`, integer arrays or None, of an array of `shape`."""
    common = broadcast_shapes(*(place.shape for place in places if place is not None))
    before, after = _dims_beside(places, len(shape))
    return (*(shape[d] for d in before), *common, *(shape[d] for d in after))


def _dims_beside(places, ndim: int) -> tuple[list[int], list[int]]:
    """The dimensions without an index that come before and after the shape that the indices have
    in common: after it, unless the indices are adjacent."""
    present = [d for d, place in enumerate(places) if place is not None]
    adjacent = present[-1] - present[0] == len(present) - 1
    rest = [d for d in range(ndim) if d not in present]
    before = [d for d in rest if adjacent and d < present[0]]
    return before, [d for d in rest if d not in before]


def _places(indices) -> list:
    """The sizes and strides of each index, None for a whole dimension; of a mask those of the
    positions in each of its dimensions."""
    places: list = []
    for index in indices:
        if index is None:
            places.append(None)
        elif index._raw.dtype in (np.bool_, np.uint8):
            places += [((int(np.count_nonzero(index._raw)),), (1,))] * index._raw.ndim
        else:
            places.append((index._raw.shape, index.stride()))
    return places


def _is_plain(input, indices, common) -> bool:
    """Whether all is row-major, so that the result is, and no size leaves strides open."""
    dense = all(
        tensor is None or tensor._strides is None or tensor._raw.ndim < 2
        for tensor in (input, *indices)
    )
    return dense and min((*input._raw.shape, *common), default=1) > 1


def _expanded(sizes, strides, common) -> tuple[int, ...]:
    """The strides of an index that is expanded to the sizes that all have in common."""
    if sizes == common:
        return strides
    result: list[int] = []
    step = 1
    for place in range(-1, -1 - len(common), -1):
        if place >= -len(sizes):
            size, stride = sizes[place], strides[place]
        else:
            size, stride = 1, step
        stride = stride if size == common[place] else 0
        step = common[place] * stride
        result.insert(0, stride)
    return tuple(result)
