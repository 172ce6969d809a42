"""Second derivatives of distances, composed as ATen composes them (Distance.cpp).

The first derivative is, of each row x of one set and each row y of the other, the weight of their
distance times `direction`: sign(x - y) |x - y|^(p-1) / d^(p-1).
"""

from __future__ import annotations

import math

import numpy as np

from impl.dispatch.formula_helpers import needed
from impl.tensor.tensor import Tensor, new


def _ratio(F, dividend, divisor, distances):
    """The ratio, and zero where a distance is."""
    return F.masked_fill(dividend / divisor, distances == 0, 0)


def _between_points(F, cotangent, weights, x1, x2, distances, p: float):
    """The second derivatives, by weights, rows and distances, for any finite order but 1 and 2."""
    difference = F.unsqueeze(x1, -2) - F.unsqueeze(x2, -3)
    size, same = F.abs(difference), difference == 0
    along = F.unsqueeze(cotangent, -2)
    scale = F.pow_scalar(distances, p - 1)
    steep = F.masked_fill(F.sgn(difference) * F.pow_scalar(size, p - 1), same, 0)
    to_weights = _ratio(F, F.sum_dim(along * steep, (-1,), False), scale, distances)
    weighted = F.unsqueeze(_ratio(F, weights, scale, distances), -1)
    curved = F.masked_fill(F.pow_scalar(size, p - 2), same, 0)
    products = weighted * curved
    return (
        to_weights,
        F.mul_scalar(cotangent, p - 1) * F.sum_dim(products, (-2,), False),
        F.mul_scalar(F.sum_dim(products * along, (-3,), False), 1 - p),
        F.mul_scalar(_ratio(F, weights, distances, distances), 1 - p) * to_weights,
    )


def _euclidean(F, cotangent, weights, x1, x2, distances):
    inner = F.sum_dim(cotangent * x1, (-1,), True)
    inner = inner - F.matrix_product(cotangent, F.transpose(x2, -2, -1))
    to_weights = _ratio(F, inner, distances, distances)
    ratio = _ratio(F, weights, distances, distances)
    return (
        to_weights,
        cotangent * F.sum_dim(ratio, (-1,), True),
        -F.matrix_product(F.transpose(ratio, -2, -1), cotangent),
        -(ratio * to_weights),
    )


def _piecewise_linear(F, cotangent, weights, x1, x2, distances, p: float):
    """The second derivatives for the orders 0, 1 and infinity: only by the weights, if at all."""
    if p == 0:
        to_weights = F.zeros_like(weights)
    else:
        difference = F.unsqueeze(x1, -2) - F.unsqueeze(x2, -3)
        directions = F.sgn(difference)
        if p != 1:
            directions = directions * (F.abs(difference) == F.unsqueeze(distances, -1))
        to_weights = F.sum_dim(F.unsqueeze(cotangent, -2) * directions, (-1,), False)
    return to_weights, F.zeros_like(x1), F.zeros_like(x2), F.zeros_like(distances)


def second_gradients(F, cotangent, weights, x1, x2, p: float, distances) -> tuple:
    """The gradients of weights, rows and distances, from that of the first derivative of `x1`."""
    operands = (cotangent, weights, x1, x2, distances)
    if p in (0, 1) or math.isinf(p):
        return _piecewise_linear(F, *operands, p)
    return _euclidean(F, *operands) if p == 2 else _between_points(F, *operands, p)


def of_cdist_backward(F, grad, grad_output, x1, x2, p, cdist, needs):
    """The second derivatives of the distances from one set of rows to another."""
    return needed(second_gradients(F, grad, grad_output, x1, x2, p, cdist), needs)


def of_pdist_backward(F, grad, grad_output, self, p, pdist, needs):
    """The second derivatives of the distances within one set of rows."""
    rows = self.shape[0]
    on_tensors = isinstance(grad, Tensor)
    places = [new(place) if on_tensors else place for place in np.triu_indices(rows, 1)]

    def square(pairs):
        half = F.index_put(F.zeros((rows, rows), F.dtype_of(pairs)), places, pairs, False)
        return half + F.transpose(half, 0, 1)

    def paired(table):
        return F.index(table + F.transpose(table, 0, 1), places)

    made = second_gradients(F, grad, square(grad_output), self, self, p, square(pdist))
    if p == 0:
        return needed((F.zeros_like(grad_output), made[1], F.zeros_like(pdist)), needs)
    flat = p == 1 or math.isinf(p)
    to_rows = made[1] if flat else made[1] + made[2]
    to_pdist = F.zeros_like(pdist) if flat else paired(made[3])
    return needed((paired(made[0]), to_rows, to_pdist), needs)
