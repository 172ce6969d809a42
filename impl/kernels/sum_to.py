"""The reduction of a broadcast gradient to its input's shape (ATen/ExpandUtils.h, sum_to)."""

from __future__ import annotations

import numpy as np

from impl.core.dtypes import WIDE
from impl.core.sizes import repeated_dims
from impl.kernels.reduced_precision import widened
from impl.kernels.vectorized import MODERATE, sum_along, sum_of_rows, total


def sum_to(raw, shape):
    """Sum an array over the dimensions along which `shape` was broadcast (ATen's sum_to).

    Sums in half and bfloat16 are accumulated in float32, as in torch.
    """
    axes = repeated_dims(shape, raw.shape) or ()
    rows = axes == (0,) and raw.ndim == 2 and len(raw) <= MODERATE and raw.dtype in WIDE
    if rows and len(shape) == 1 and raw.flags.c_contiguous:
        return sum_of_rows(raw)  # a view, as in torch
    wide = widened(raw)
    if not shape:  # a full reduction, which returns no view in torch
        return np.asarray(total(wide)).astype(raw.dtype)[()]
    made = sum_along(wide, axes, True).astype(raw.dtype, order="C", copy=False)  # as in ATen
    return made.reshape(shape) if raw.ndim > len(shape) else made
