"""Multiplication and division by a Python number, as torch's own formulas record them.

Python's `x * 2` makes the number a tensor first; inside torch's C++ formulas it stays a number,
which is another overload with a node of its own.
"""

from __future__ import annotations

from impl.operator import Array, operator


@operator(node="MulBackward1", function=False, method=False, elementwise=True)
def mul_scalar(self: Array, other) -> Array:
    return self * other


mul_scalar.gradient(self=lambda F, grad, other: F.mul_scalar(grad, other))


@operator(node="DivBackward1", function=False, method=False, elementwise=True)
def div_scalar(self: Array, other) -> Array:
    return self / self.dtype.type(other)


div_scalar.gradient(self=lambda F, grad, other: F.div_scalar(grad, other))
