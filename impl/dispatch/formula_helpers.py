"""Helpers that the gradient formulas of several operators share."""

from __future__ import annotations

import re

from impl.core import messages
from impl.engine.backward import gradients

_NOT_BROADCAST = re.compile(
    r"operands could not be broadcast together with shapes ((?:\([\d,]*\) ?)+)"
)


def refuse_shapes(error: BaseException) -> None:
    """Raise torch's RuntimeError in the place of NumPy's error for shapes that do not broadcast,
    as values have that a hook on saved tensors replaced."""
    if isinstance(error, ValueError) and (found := _NOT_BROADCAST.match(str(error))):
        shapes = [tuple(map(int, re.findall(r"\d+", s))) for s in found[1].split()]
        raise RuntimeError(messages.broadcast(shapes)) from None


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
    return gradients(outputs, inputs, cotangents, create_graph)
