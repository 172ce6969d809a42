"""Derivatives shared by the normalisations, and checks of their weights.

Let mean and inverse deviation r be taken over some of the elements, and y = (x - mean) r. The
differential of y is r P(dx), where P subtracts from a tensor its mean and its component along y. P
is its own adjoint, from which the gradients of first and second order follow.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from impl.core.dtypes import REDUCED
from impl.core.state import STATE
from impl.dispatch.not_implemented import require_floating, require_scalar_type
from impl.kernels.vectorized import row_sums


class Normalized(NamedTuple):
    """A normalised tensor `value`, its inverse deviation `scale`, and the dimensions and number of
    elements that both are taken over."""

    value: Any
    scale: Any
    dims: tuple[int, ...]
    number: int


def statistics(rows, eps):
    """Mean and inverse deviation of each row, as columns, and the rows less their mean."""
    number = rows.dtype.type
    count = number(rows.shape[1])
    # A product with ones would not find the mean of equal elements exactly.
    mean = np.add.reduce(rows, 1, keepdims=True)
    if count:  # no elements have the mean 0
        mean /= count
    centred = rows - mean
    variance = row_sums(np.square(centred))
    variance /= count
    variance += number(eps)
    return mean, number(1) / np.sqrt(variance), centred


def mean_over(F, value, normalized: Normalized):
    """The mean over the normalised elements, with their dimensions kept."""
    return F.mul_scalar(F.sum_dim(value, normalized.dims, True), 1.0 / normalized.number)


def projected(F, value, normalized: Normalized):
    """The projection P of the module's docstring."""
    along = mean_over(F, value * normalized.value, normalized)
    return value - mean_over(F, value, normalized) - normalized.value * along


def input_gradient(F, grad, normalized: Normalized):
    """The gradient of x from that of y."""
    return normalized.scale * projected(F, grad, normalized)


def second_input_gradient(F, outer, grad, normalized: Normalized):
    """The gradient of x from that of `input_gradient(grad)`, which is `outer`."""
    a = mean_over(F, grad * normalized.value, normalized)
    b = mean_over(F, outer * normalized.value, normalized)
    product = mean_over(F, outer * grad, normalized)
    means = mean_over(F, outer, normalized) * mean_over(F, grad, normalized)
    bent = normalized.value * (product - means - a * b)
    spread = b * projected(F, grad, normalized) + a * projected(F, outer, normalized)
    return -(normalized.scale * normalized.scale) * (bent + spread)


def tangent(F, x, x_t, mean, normalized_scale, dims, count: int):
    """The tangent of (x - mean) * scale, in new memory, with ATen's in-place operations."""
    centred = x_t - F.mean_dim(x_t, dims, True)
    cubed = -normalized_scale.pow(3)
    along = F.sum_dim((centred * (x - mean)) * cubed, dims, True)
    slope = F.div_scalar(along, count)
    if x_t._zero or STATE.transforms:  # where ATen writes nothing in place
        return centred * normalized_scale + (x - mean) * slope
    result = x_t - F.mean_dim(x_t, dims, True)
    return result.mul_(normalized_scale).add_((x - mean) * slope)


def affine_tangent(result_t, result, weight, weight_t, bias_t, shape):
    """The tangent of result * weight + bias, either of which may be None.

    `result_t` and `result` are overwritten, unless the weight has no tangent.
    """
    if weight is not None and (weight_t._zero or STATE.transforms):
        result_t = result_t * weight.view(shape) + result * weight_t.view(shape)
    elif weight is not None:
        result_t.mul_(weight.view(shape)).add_(result.mul_(weight_t.view(shape)))
    if bias_t is None:
        return result_t
    bias_t = bias_t.view(shape)
    return result_t + bias_t if STATE.transforms else result_t.add_(bias_t)


def elements(shape, dims) -> int:
    """The number of elements along some dimensions."""
    return math.prod(shape[d] for d in dims)


def check_mixed(input, *parameters) -> None:
    """Raise RuntimeError for parameters (raw values) of another dtype than the input's
    (check_mixed_data_type).

    Only half and bfloat16 may have parameters of float32. torch compares only the first of them.
    """
    kinds = [p.dtype for p in parameters if p is not None]
    if not kinds or kinds[0] == input.dtype:
        return
    if any(kind != np.float32 for kind in kinds):
        raise RuntimeError("mixed dtype (CPU): expect parameter to have scalar type of Float")
    if input.dtype not in REDUCED:
        raise RuntimeError("mixed dtype (CPU): all inputs must share same datatype.")


def check_parameters(input, kernel: str, *parameters) -> None:
    """Raise RuntimeError for parameters (raw values) of other dtypes than the input's, as
    `check_mixed`.

    Raises NotImplementedError, with torch's name of the kernel, for an input that is not floating.
    """
    check_mixed(input, *parameters)
    require_floating(input, kernel)
    present = [p for p in parameters if p is not None]
    for value in present:
        require_scalar_type(value, present[0].dtype)
