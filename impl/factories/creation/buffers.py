"""Tensors over the memory of other objects."""

from __future__ import annotations

import numpy as np

from impl.core.warning import warn_once
from impl.factories.creation.from_data import UNWRITABLE_BUFFER, check_buffer, over_array
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
    check_buffer(size, dtype.numpy.itemsize, count, offset)
    if memoryview(buffer).readonly:
        warn_once(UNWRITABLE_BUFFER)
    result = over_array(np.frombuffer(buffer, dtype.numpy, count, offset))
    return flagged("frombuffer", result, requires_grad)
