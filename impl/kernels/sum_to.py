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
    if not wide.flags.c_contiguous:  # the result is row-major, as in ATen
        kept = tuple(1 if d in axes else n for d, n in enumerate(raw.shape))
        made = np.empty(kept, wide.dtype)
        made[...] = sum_along(wide, axes, True)
    else:
        made = sum_along(wide, axes, True)
    if wide is not raw:
        made = made.astype(raw.dtype)
    return made.reshape(shape) if raw.ndim > len(shape) else made
