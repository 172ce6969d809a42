"""Second derivatives of independently normalised rows, with ATen's operations in ATen's order.

Let y = (x - m) r for a row x of n elements with mean m and inverse deviation r, and g the gradient
of y. The gradient of x is r / n (n g - sum(g) - (x - m) r^2 sum(g (x - m))).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from impl.core.registry import tensor_ops
from impl.dispatch.definition import formula_operation
from impl.operators.pointwise.arithmetic import div_scalar


class Rows(NamedTuple):
    """Rows less their means, the inverse deviations as a column, and the length of a row."""

    centred: Any
    scale: Any
    length: int


# ATen computes these in place, which is visible in the version of a gradient.


@formula_operation
def add_fresh(value, other):
    """The sum, written into `value`, which has no other reference."""
    return value + other


@formula_operation
def div_fresh(value, number):
    """The quotient by a number, written into `value`, which has no other reference."""
    return value / value.dtype.type(number)


tensor_ops.add_fresh = lambda value, other: value.add_(other)
tensor_ops.div_fresh = div_scalar.inplace


def _total(F, value):
    return F.sum_dim(value, (1,), True)


def row_gradient(F, grad, factor, rows: Rows):
    """The gradient of x from that of y * factor; a factor of None is 1."""
    scale = rows.scale if factor is None else factor * rows.scale
    along = _total(F, grad * rows.centred)
    shift = F.mul_scalar(grad, rows.length) - _total(F, grad)
    shift = shift - rows.centred * F.pow_scalar(rows.scale, 2) * along
    return F.div_scalar(scale, rows.length) * shift


def row_slope(F, grad, rows: Rows):
    """`row_gradient` without a factor, as ATen writes it for the gradient of a factor."""
    cubed = F.pow_scalar(rows.scale, 3)
    direct = grad * rows.scale
    of_mean = F.div_scalar(rows.scale * _total(F, grad), -rows.length)
    along = _total(F, grad * rows.centred)
    of_scale = F.div_scalar(rows.centred * cubed * along, -rows.length)
    return F.add_fresh(F.add_fresh(direct, of_mean), of_scale)


def row_curvature(F, outer, grad, rows: Rows):
    """The gradient of x from that of `row_gradient(grad)`, which is `outer`."""
    centred, scale, count = rows
    cubed = F.pow_scalar(scale, 3)
    along, outer_along = _total(F, grad * centred), _total(F, outer * centred)
    total, outer_total = _total(F, grad), _total(F, outer)
    bent = F.div_scalar(outer_total * total, count) - _total(F, outer * grad)
    products = F.pow_scalar(scale, 2) * along * outer_along
    bent = bent + F.mul_scalar(products, float(np.divide(3.0, count)))
    first = F.div_fresh(centred * cubed * bent, count)
    second = F.div_scalar(outer_along * cubed, count) * (F.div_scalar(total, count) - grad)
    third = F.div_scalar(along * cubed, count) * (F.div_scalar(outer_total, count) - outer)
    return F.add_fresh(F.add_fresh(first, second), third)
