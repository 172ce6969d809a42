"""Tensors over the memory of other objects."""

from __future__ import annotations

import numpy as np

from impl.factories.creation.from_data import from_numpy
from impl.factories.creation.options import check_flag, flagged, publish
from impl.tensor.tensor import Tensor


@publish
def frombuffer(buffer, *, dtype, count=-1, offset=0, requires_grad=False) -> Tensor:
    """A tensor over `count` elements (all by default) of an object's memory, from byte `offset` on
    (torch.frombuffer).

    Raises ValueError for an object without a buffer and for sizes that do not fit.
    """
    check_flag("frombuffer", requires_grad)
    try:
        size = memoryview(buffer).nbytes
    except TypeError:
        raise ValueError("object does not implement Python buffer protocol.") from None
    item = dtype.numpy.itemsize
    if size == 0 or count == 0:
        raise ValueError(f"both buffer length ({size}) and count ({count}) must not be 0")
    if not 0 <= offset < size:
        raise ValueError(
            f"offset ({offset} bytes) must be non-negative and no greater than buffer length "
            f"({size} bytes) minus 1"
        )
    if count < 0 and (size - offset) % item:
        raise ValueError(
            f"buffer length ({size - offset} bytes) after offset ({offset} bytes) must be a "
            f"multiple of element size ({item})"
        )
    if count > 0 and offset + count * item > size:
        raise ValueError(
            f"requested buffer length ({count} * {item} bytes) after offset ({offset} bytes) must "
            f"not be greater than actual buffer length ({size} bytes)"
        )
    result = from_numpy(np.frombuffer(buffer, dtype.numpy, count, offset))
    return flagged("frombuffer", result, requires_grad)
