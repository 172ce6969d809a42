"""Pooling by maxima that returns where they were, under the names of its own that it has."""

from __future__ import annotations

import functools

from impl.operators.adaptive_maxima import (
    adaptive_max_pool1d,
    adaptive_max_pool2d,
    adaptive_max_pool3d,
)
from impl.operators.fractional_pooling import fractional_max_pool2d, fractional_max_pool3d
from impl.operators.pooling import max_pool2d, max_pool3d


def _with_indices(pool):
    """The pooling with `return_indices`, which is then ignored."""

    @functools.wraps(pool)
    def call(input, *args, return_indices=False, **named):
        return pool(input, *args, return_indices=True, **named)

    call.__name__ = call.__qualname__ = f"{pool.__name__}_with_indices"
    call.__doc__ = f"The maxima of `{pool.__name__}`, and their positions."
    return call


adaptive_max_pool1d_with_indices = _with_indices(adaptive_max_pool1d)
adaptive_max_pool2d_with_indices = _with_indices(adaptive_max_pool2d)
adaptive_max_pool3d_with_indices = _with_indices(adaptive_max_pool3d)
fractional_max_pool2d_with_indices = _with_indices(fractional_max_pool2d)
fractional_max_pool3d_with_indices = _with_indices(fractional_max_pool3d)
max_pool2d_with_indices = _with_indices(max_pool2d)
max_pool3d_with_indices = _with_indices(max_pool3d)
