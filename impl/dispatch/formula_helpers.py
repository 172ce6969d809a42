"""Helpers that the gradient formulas of several operators share."""

from __future__ import annotations

from impl.engine.backward import grad


def summed(first, second):
    """The sum of two gradients, either of which may be missing."""
    return second if first is None else first if second is None else first + second


def needed(gradients, needs) -> tuple:
    """The gradients that are needed, None in the place of the others."""
    return tuple(g if need else None for g, need in zip(gradients, needs, strict=True))


def times(F, tangent, number):
    """The tangent of `value * number`; a product with one is not recorded."""
    return tangent if number == 1 else F.mul_scalar(tangent, number)


def multiplied(F, grad, number):
    """The gradient of a value from that of `value * number`; as `times` (maybe_multiply)."""
    return grad if number == 1 else F.mul_scalar(grad, F.conj(number))


def vjp(outputs, inputs, cotangents, create_graph: bool) -> tuple:
    """The vector-Jacobian product: one gradient per input, None for one that was not used."""
    return grad(outputs, inputs, cotangents, create_graph=create_graph, allow_unused=True)
