"""The rows of an element-wise result, for a target whose rows share memory: each is made when those
before it are written."""

from __future__ import annotations

import numpy as np

from impl.core.tensor_iterator import dimension_order


def rows(op, target, raws):
    """The rows of the operator's result, each with its key, in TensorIterator's order."""
    shape = target._raw.shape
    arrays = [r for i in op.tensor_positions if (r := raws[i]) is not None and np.ndim(r)]
    strides = [[step // r.itemsize for step in r.strides] for r in arrays]
    operands = zip((r.shape for r in arrays), strides, strict=True)
    outer = dimension_order(shape, [(shape, target.stride()), *operands])[:0:-1]
    key: list = [slice(None)] * len(shape)
    for place in np.ndindex(*(shape[dim] for dim in outer)):
        for dim, index in zip(outer, place, strict=True):
            key[dim] = index
        row = [*raws]
        for i in op.tensor_positions:
            if np.ndim(raws[i]):
                row[i] = np.broadcast_to(raws[i], shape)[tuple(key)]
        yield tuple(key), op._call_kernel(row)
