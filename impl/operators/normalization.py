"""What the normalisations share: their derivatives, and the checks on weights.

With mean and inverse deviation r taken over some of the elements, y = (x - mean) r is linear in
nothing, but its differential is r P(dx), where P takes away from a tensor its mean and its part
along y. P is its own adjoint, and the gradients of first and second order follow from it.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple


class Normalized(NamedTuple):
    """A normalised tensor `value`, its inverse deviation `scale`, and what both are taken over."""

    value: Any
    scale: Any
    dims: tuple[int, ...]
    number: int


def mean_over(F, value, normalized: Normalized):
    """The mean over the normalised elements, with their dimensions kept."""
    return F.mul_scalar(F.sum_dim(value, normalized.dims, True), 1.0 / normalized.number)


def projected(F, value, normalized: Normalized):
    """P of the module's docstring."""
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
    """The tangent of (x - mean) * scale, in new memory, written step by step as in ATen."""
    centred = x_t - F.mean_dim(x_t, dims, True)
    cubed = -normalized_scale.pow(3)
    along = F.sum_dim((centred * (x - mean)) * cubed, dims, True)
    slope = F.div_scalar(along, count)
    if x_t._zero:  # which ATen does not write to
        return centred * normalized_scale + (x - mean) * slope
    result = x_t - F.mean_dim(x_t, dims, True)
    return result.mul_(normalized_scale).add_((x - mean) * slope)


def affine_tangent(result_t, result, weight, weight_t, bias_t, shape):
    """The tangent of result * weight + bias, for one or both or neither of these, over that of the
    result; both are written, unless the weight has no tangent."""
    if weight is not None and weight_t._zero:
        result_t = result_t * weight.view(shape) + result * weight_t.view(shape)
    elif weight is not None:
        result_t.mul_(weight.view(shape)).add_(result.mul_(weight_t.view(shape)))
    return result_t if bias_t is None else result_t.add_(bias_t.view(shape))


def elements(shape, dims) -> int:
    """How many elements there are along some dimensions."""
    return math.prod(shape[d] for d in dims)
