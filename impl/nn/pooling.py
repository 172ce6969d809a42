"""Pooling functions that are composed of others: power-average pooling, and indices by name."""

from __future__ import annotations

import functools
import inspect
import math

import numpy as np

from impl.nn.activation import relu
from impl.operators.images.adaptive_maxima import (
    adaptive_max_pool1d,
    adaptive_max_pool2d,
    adaptive_max_pool3d,
)
from impl.operators.images.average_pooling import avg_pool1d, avg_pool2d, avg_pool3d
from impl.operators.images.fractional_pooling import fractional_max_pool2d, fractional_max_pool3d
from impl.operators.images.pooling import max_pool1d, max_pool2d, max_pool3d
from impl.tensor.tensor import Tensor


def _with_indices(pool):
    """A max pooling that always returns indices; it ignores `return_indices`."""
    parameters = inspect.signature(pool)

    @functools.wraps(pool)
    def call(*args, **named):
        try:
            given = parameters.bind(*args, **named)
        except TypeError:
            return pool(*args, **named)  # which refuses the arguments under the name of `call`
        given.arguments["return_indices"] = True
        return pool(*given.args, **given.kwargs)

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


def _lp_pool(ndim: int, max_pool, avg_pool):
    """Power-average pooling over a number of dimensions."""

    def lp_pool(input, norm_type, kernel_size, stride=None, ceil_mode: bool = False) -> Tensor:
        if norm_type == math.inf:
            return max_pool(input.abs(), kernel_size, stride, 0, 1, ceil_mode)
        if norm_type == -math.inf:
            return -max_pool(-input.abs(), kernel_size, stride, 0, 1, ceil_mode)
        count = kernel_size
        if ndim > 1:
            is_number = isinstance(kernel_size, int | np.integer)
            count = kernel_size**ndim if is_number else math.prod(kernel_size)
        mean = avg_pool(input.pow(norm_type), kernel_size, stride, 0, ceil_mode)
        return (mean.sign() * relu(mean.abs())).mul(count).pow(1.0 / norm_type)

    name = lp_pool.__name__ = lp_pool.__qualname__ = f"lp_pool{ndim}d"
    lp_pool.__doc__ = f"""The p-norm of each window; p is `norm_type` (torch.nn.functional.{name}).

    The root is taken of the sum's absolute value and has the sum's sign. An infinite p takes the
    greatest absolute value, minus infinity the smallest.
    """
    return lp_pool


lp_pool1d = _lp_pool(1, max_pool1d, avg_pool1d)
lp_pool2d = _lp_pool(2, max_pool2d, avg_pool2d)
lp_pool3d = _lp_pool(3, max_pool3d, avg_pool3d)
