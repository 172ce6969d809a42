"""Reductions."""

from __future__ import annotations

import numpy as np

from impl.operator import TAPED, Array, function, operator


@operator(node="SumBackward0", function=False, method=False)
def sum_all(self: Array) -> Array:
    return self.sum()


@operator(function=False, method=False)
def expand(self: Array, shape) -> Array:
    return np.broadcast_to(self, shape)


sum_all.gradient(self=lambda F, grad, self_shape: F.expand(grad, self_shape))


@function("sum")
def sum_(self, dim=None):
    return sum_all(self)
